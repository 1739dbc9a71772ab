"""The catalog of PgBouncer: one record a release, and the answers its checks give."""

import pytest

from pools.poolers import settings_schema
from pools.poolers.pgbouncer.settings_catalog import CATALOG
from pools.poolers.settings_schema import Scope, Type

RELEASES = [(1, minor) for minor in range(18, 27)]


def faults(scope, values, version=(1, 25)):
    return dict(settings_schema.problems(CATALOG, scope, values, version))


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("scope", Scope)
def test_a_release_has_one_record_of_a_name(scope, version):
    names = [setting.name for setting in settings_schema.shown(CATALOG, scope, version)]
    assert names
    assert len(names) == len(set(names))


@pytest.mark.parametrize("version", RELEASES)
def test_every_default_is_a_value_its_release_takes(version):
    for setting in CATALOG:
        if setting.default and setting.known_to(version) and not setting.fixed:
            assert settings_schema.fault_of(setting, setting.default) == ""


def test_every_setting_has_a_group_and_a_choice_has_its_words():
    for setting in CATALOG:
        assert setting.group
        assert (setting.type == Type.CHOICE) == bool(setting.choices)


def test_defaults_that_changed_have_a_record_for_each_time():
    def default(name, version):
        (one,) = [one for one in settings_schema.shown(CATALOG, Scope.PROGRAM, version) if one.name == name]
        return one.default

    assert [default("max_prepared_statements", (1, minor)) for minor in (21, 23, 24)] == ["0", "0", "200"]
    assert [default("server_tls_sslmode", (1, minor)) for minor in (19, 20)] == ["disable", "prefer"]
    assert [default("server_check_query", (1, minor)) for minor in (24, 25)] == ["select 1", "<empty>"]


@pytest.mark.parametrize(
    ("scope", "values", "message"),
    [
        (Scope.PROGRAM, {"max_client_conn": "many"}, "max_client_conn='many' is not a whole number"),
        (Scope.PROGRAM, {"max_client_conn": -1}, "max_client_conn=-1 is out of range: use at least 0"),
        (Scope.PROGRAM, {"verbose": 9}, "verbose=9 is out of range: use 0 to 3"),
        (Scope.PROGRAM, {"max_client_conn": 2**31}, "max_client_conn=2147483648 is out of range: use 0 to 2147483647"),
        (Scope.PROGRAM, {"query_timeout": "1s"}, "query_timeout='1s' is not a number of seconds"),
        (Scope.PROGRAM, {"pool_mode": "tx"}, "pool_mode='tx' is not one of session, transaction, statement"),
        (
            Scope.PROGRAM,
            {"auth_type": "cert"},
            "auth_type=cert is not possible here: it requires a certificate of each client",
        ),
        (
            Scope.PROGRAM,
            {"client_tls_sslmode": "verify-full"},
            "client_tls_sslmode=verify-full is not possible here: it requires a certificate",
        ),
        (Scope.PROGRAM, {"log_stats": "yes"}, "log_stats='yes' is neither 0 nor 1"),
        (Scope.PROGRAM, {"auth_query": "SELECT 1"}, "auth_query='SELECT 1' does not have the required form"),
        (Scope.PROGRAM, {"job_name": "a\nuser = root"}, "job_name: a line break or NUL can't be written"),
        (Scope.PROGRAM, {"max_clients": 1}, "max_clients is not a setting of this pooler"),
        (Scope.PROGRAM, {"connect_query": "SELECT 1"}, "connect_query is not a setting of a program, but of: pool"),
        (
            Scope.PROGRAM,
            {"listen_port": 7000},
            "listen_port is not set by the panel. Read-only: clients and the panel know it",
        ),
        (Scope.POOL, {"max_client_conn": 5}, "max_client_conn is not a setting of a pool, but of: program"),
        (Scope.POOL, {"reserve_pool_size": 5}, "reserve_pool_size is called reserve_pool here"),
        (Scope.USER, {"connect_query": "SELECT 1"}, "connect_query is not a setting of a user, but of: pool"),
    ],
)
def test_what_the_program_would_refuse_is_said_before(scope, values, message):
    ((_, reported),) = faults(scope, values).items()
    assert reported.startswith(message)


def test_a_setting_of_another_release_names_it():
    assert faults(Scope.PROGRAM, {"transaction_timeout": 5}, (1, 24)) == {
        "transaction_timeout": "transaction_timeout came with 1.25, and this is 1.24: leave it out, or upgrade"
    }
    assert "was removed in 1.26" in faults(Scope.PROGRAM, {"suspend_timeout": 5}, (1, 26))["suspend_timeout"]
    assert faults(Scope.PROGRAM, {"max_prepared_statements": 5}, (1, 18)) == {  # its default changed with 1.24
        "max_prepared_statements": "max_prepared_statements came with 1.21, and this is 1.18: leave it out, or upgrade"
    }
    assert "'ldap' is not one of" in faults(Scope.PROGRAM, {"auth_type": "ldap"}, (1, 24))["auth_type"]
    assert faults(Scope.PROGRAM, {"auth_type": "ldap"}, (1, 25)) == {}


def test_needs_name_settings_that_are_there():
    names = {setting.name for setting in CATALOG if setting.scope == Scope.PROGRAM}
    for setting in CATALOG:
        for value, others in setting.needs:
            assert set(others) <= names
            assert value == "" or value in setting.choices
        assert setting.key in {"", *names}


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("listen_addr", ["*", "127.0.0.1,::1", "db.local, 10.0.0.1"], ["10.0.0.1 10.0.0.2", "a;b"]),
        ("ignore_startup_parameters", ["extra_float_digits,options"], ["a,,b", "a b"]),
        ("client_tls_protocols", ["secure", "tlsv1.2, tlsv1.3"], ["tls", "ssl3", "all,!secure"]),
        ("server_tls_ciphers", ["default", "HIGH:!aNULL"], ["4+eh0fbG", "ünder"]),
        ("client_tls13_ciphers", ["TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256"], ["TLS_NONE"]),
        ("unix_socket_mode", ["0770"], ["770", "0999"]),
        ("unix_socket_dir", ["/run/pgbouncer", "@abstract"], ["run"]),
        ("auth_query", ["SELECT u, p FROM f($1)"], ["SELECT u, p FROM f($10)"]),
    ],
)
def test_texts_are_held_to_their_form(name, good, bad):
    assert [faults(Scope.PROGRAM, {name: value}) for value in good] == [{}] * len(good)
    assert all(faults(Scope.PROGRAM, {name: value}) for value in bad)
