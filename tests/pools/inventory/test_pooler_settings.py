"""A pooler's settings, limits and files are judged before they are saved, and then a wish."""

import pytest

from pools.errors import Stale
from pools.inventory import pooler_settings
from pools.inventory.pooler_settings import InvalidSettings
from pools.models import PoolerKind, PoolerState, PoolState
from pools.poolers.pgbouncer import console
from tests import callers
from tests.certificates import self_signed
from tests.pools.records import a_pooler

pytestmark = pytest.mark.django_db


@pytest.fixture
def pooler():
    return a_pooler(server_version="PgBouncer 1.24.1")


@pytest.fixture
def online(pooler, monkeypatch):
    """The pooler with a console that shows this configuration."""

    def showing(**config):
        monkeypatch.setattr(console, "show", lambda *_: [{"key": key, "value": value} for key, value in config.items()])
        pooler.state = PoolerState.ONLINE
        pooler.save(update_fields=["state"])
        return pooler

    return showing


def refused(verb, *args):
    with pytest.raises(InvalidSettings) as caught:
        verb(*args)
    return caught.value.errors


def test_settings_are_a_wish_and_asked_for(pooler, asked):
    values = {"max_client_conn": "500", "query_timeout": "1.5", "log_stats": False, "server_reset_query": " RESET ALL "}
    changed = pooler_settings.change_settings(pooler, values, 1)
    assert changed.settings == {
        "max_client_conn": 500,
        "query_timeout": 1.5,
        "log_stats": 0,
        "server_reset_query": "RESET ALL",
    }
    assert (changed.settings_state, changed.version) == (PoolState.PENDING, 2)
    assert asked() == [str(pooler.pk)]


def test_an_empty_value_takes_a_setting_away_and_others_stay(pooler, asked):
    pooler_settings.change_settings(pooler, {"verbose": 1, "max_client_conn": 500})
    pooler_settings.change_settings(pooler, {"verbose": "", "pkt_buf": None})
    assert pooler.settings == {"max_client_conn": 500}


def test_what_the_release_does_not_take_is_refused_and_nothing_is_saved(pooler, asked):
    errors = refused(
        pooler_settings.change_settings,
        pooler,
        {"max_client_conn": "x", "transaction_timeout": 5, "pidfile": "/tmp/x", "auth_hba_file": "/x", "verbose": 1},
    )
    assert sorted(errors) == ["auth_hba_file", "max_client_conn", "pidfile", "transaction_timeout"]
    assert errors["transaction_timeout"] == [
        "transaction_timeout came with 1.25, and this is 1.24: leave it out, or upgrade"
    ]
    assert "give the file itself" in errors["auth_hba_file"][0]
    pooler.refresh_from_db()
    assert (pooler.settings, pooler.settings_state, pooler.version) == ({}, PoolState.APPLIED, 1)
    assert asked() == []


def test_a_stale_edit_is_refused(pooler, asked):
    pooler_settings.change_settings(pooler, {"verbose": 1}, 1)
    with pytest.raises(Stale):
        pooler_settings.change_settings(pooler, {"verbose": 2}, 1)
    assert pooler.settings == {"verbose": 1}


def test_a_pooler_that_was_never_seen_takes_what_the_oldest_release_does(asked):
    pooler = a_pooler()
    assert "max_prepared_statements" in refused(
        pooler_settings.change_settings, pooler, {"max_prepared_statements": 100}
    )


def test_a_value_that_needs_others_says_which(online, asked):
    pooler = online(client_tls_key_file="", client_tls_cert_file="", auth_hba_file="")
    errors = refused(pooler_settings.change_settings, pooler, {"client_tls_sslmode": "require", "auth_type": "hba"})
    assert errors == {
        "client_tls_sslmode": [
            "client_tls_sslmode=require needs client_tls_key_file, client_tls_cert_file: give what is missing too"
        ],
        "auth_type": ["auth_type=hba needs auth_hba_file: give what is missing too"],
    }


def test_what_the_operator_has_counts_and_what_the_panel_gave_and_took_away_does_not(online, asked):
    pooler = online(auth_hba_file="/etc/pgbouncer/hba.conf")
    pooler_settings.change_settings(pooler, {"auth_type": "hba"})
    online(auth_hba_file="/etc/pgbouncer/pooldeck_hba.conf")
    assert "auth_type" in refused(pooler_settings.change_settings, pooler, {"auth_type": "hba"})


def test_limits_of_users_come_and_go(pooler, asked):
    pooler_settings.change_user_settings(pooler, "app", {"max_user_connections": "5", "pool_mode": "session"})
    pooler_settings.change_user_settings(pooler, "reader", {"query_timeout": 30})
    pooler_settings.change_user_settings(pooler, "app", {"pool_mode": ""})
    assert pooler.user_settings == {"app": {"max_user_connections": 5}, "reader": {"query_timeout": 30}}
    pooler_settings.change_user_settings(pooler, "app", {"max_user_connections": ""})
    assert pooler.user_settings == {"reader": {"query_timeout": 30}}
    assert pooler.settings_state == PoolState.PENDING


@pytest.mark.parametrize("user", ["", "two words", "app=1", "ünder"])
def test_a_name_that_pgbouncer_would_misread_gets_no_limits(pooler, user):
    assert list(refused(pooler_settings.change_user_settings, pooler, user, {"pool_mode": "session"})) == ["user"]


def test_limits_of_another_release_or_place_are_refused(pooler):
    errors = refused(
        pooler_settings.change_user_settings, pooler, "app", {"transaction_timeout": 5, "max_client_conn": 5}
    )
    assert sorted(errors) == ["max_client_conn", "transaction_timeout"]


def test_a_pgpool_has_no_limits_of_users():
    pooler = a_pooler(kind=PoolerKind.PGPOOL, server_version="4.3.5")
    errors = refused(pooler_settings.change_user_settings, pooler, "app", {"pool_mode": "session"})
    assert errors == {"user": ["Pgpool-II has no limits of users: give them to its pools"]}


def test_a_certificate_and_its_key_come_together_and_are_sealed(pooler, asked):
    key, certificate = self_signed("db.example")
    author = callers.person("ann")
    contents = {"client_tls_key_file": key, "client_tls_cert_file": certificate.replace("\n", "\r\n")}
    pooler_settings.give_files(pooler, contents, author)
    given = {one.setting: one for one in pooler.given_files.all()}
    assert given["client_tls_key_file"].content == key
    assert given["client_tls_cert_file"].content == certificate
    assert given["client_tls_key_file"].author == author
    assert "PRIVATE" not in given["client_tls_key_file"].sealed_content
    assert (pooler.settings_state, asked()) == (PoolState.PENDING, [str(pooler.pk)])


def test_a_certificate_alone_needs_its_key(online):
    pooler = online(client_tls_key_file="")
    _, certificate = self_signed("db.example")
    errors = refused(pooler_settings.give_file, pooler, "client_tls_cert_file", certificate)
    assert errors == {
        "client_tls_cert_file": ["client_tls_cert_file needs client_tls_key_file: give what is missing too"]
    }


def test_a_key_of_another_certificate_is_refused_and_not_told(pooler, asked):
    key, certificate = self_signed("db.example")
    pooler_settings.give_files(pooler, {"client_tls_key_file": key, "client_tls_cert_file": certificate})
    other, _ = self_signed("else")
    errors = refused(pooler_settings.give_file, pooler, "client_tls_key_file", other)
    assert "does not belong to the certificate of db.example" in errors["client_tls_key_file"][0]
    assert pooler.given_files.get(setting="client_tls_key_file").content == key


@pytest.mark.parametrize(
    ("setting", "content", "why"),
    [
        ("client_tls_ca_file", "hello", "not a certificate in PEM"),
        ("server_tls_key_file", "hello", "not a private key in PEM"),
        ("auth_hba_file", "host all all 10.0.0.0/8 telepathy", "line 1: 'telepathy' is not a method"),
        ("auth_hba_file", " \n", "is empty"),
        ("auth_hba_file", "x" * 300_000, "longer than 256 kB"),
        ("auth_file", '"a" "b"', "is not a file that this pooler accepts"),
    ],
)
def test_a_file_that_can_not_be_read_is_refused(pooler, setting, content, why):
    errors = refused(pooler_settings.give_file, pooler, setting, content)
    assert list(errors) == [setting]
    assert why in errors[setting][0]
    assert not pooler.given_files.exists()


RULES = "local all all peer map=staff\nhostssl all all 10.0.0.0/8 cert map=hosts\n"


def test_rules_that_name_a_map_which_the_given_maps_lack_are_refused(online, asked):
    pooler = online(auth_ident_file="", auth_hba_file="")
    pooler_settings.give_file(pooler, "auth_ident_file", "staff root postgres\n")
    errors = refused(pooler_settings.give_file, pooler, "auth_hba_file", RULES)
    why = "which auth_ident_file lacks: add it there, or remove the option"
    assert errors == {"auth_hba_file": [f"auth_hba_file: line 2 names map=hosts, {why}"]}
    pooler_settings.give_files(
        pooler, {"auth_hba_file": RULES, "auth_ident_file": "staff root postgres\nhosts edge app # one\n"}
    )
    errors = refused(pooler_settings.give_file, pooler, "auth_ident_file", "hosts edge app\n")
    assert errors == {"auth_hba_file": [f"auth_hba_file: line 1 names map=staff, {why}"]}
    errors = refused(pooler_settings.remove_file, pooler, "auth_ident_file")
    needed = [f"line {number} names map={name}, {why}" for number, name in ((1, "staff"), (2, "hosts"))]
    assert errors["auth_ident_file"][0].startswith(f"it is needed: auth_hba_file: {'; '.join(needed)}")
    pooler_settings.remove_file(pooler, "auth_hba_file")
    pooler_settings.remove_file(pooler, "auth_ident_file")


def test_maps_of_the_operators_own_file_are_not_judged_here(online, asked):
    pooler = online(auth_ident_file="/etc/pgbouncer/ident.conf", auth_hba_file="")
    pooler_settings.give_file(pooler, "auth_hba_file", RULES)
    assert pooler.given_files.count() == 1


def test_maps_are_needed_where_the_operator_has_none_either(online, asked):
    errors = refused(pooler_settings.give_file, online(auth_ident_file=""), "auth_hba_file", RULES)
    assert "names map=staff" in errors["auth_hba_file"][0]


def test_a_file_that_is_needed_stays(online, asked):
    pooler = online(auth_hba_file="/x/pooldeck_hba.conf", client_tls_key_file="/x/pooldeck_key.pem")
    pooler_settings.give_file(pooler, "auth_hba_file", "local all all peer\n")
    pooler_settings.change_settings(pooler, {"auth_type": "hba"})
    errors = refused(pooler_settings.remove_file, pooler, "auth_hba_file")
    assert errors["auth_hba_file"] == ["it is needed: auth_type=hba needs auth_hba_file: give what is missing too"]
    pooler_settings.change_settings(pooler, {"auth_type": ""})
    pooler_settings.remove_file(pooler, "auth_hba_file")
    assert not pooler.given_files.exists()
    assert "no such file" in refused(pooler_settings.remove_file, pooler, "auth_hba_file")["auth_hba_file"][0]
