"""HBA rules of who may log in to which pool, as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from pools.models import Pooler
from pools.poolers.pgbouncer import access, access_rules, operators_config, render
from pools.poolers.pgbouncer.access import Place
from pools.poolers.pgbouncer.access_rules import Admission
from pools.poolers.pgbouncer.global_settings import ACCESS, SETTINGS, Spec
from tests.pools import records

KEY = "00000000-0000-0000-0000-00000000000"
APP, TWO = Admission(f"{KEY}1", "orders", ("app",)), Admission(f"{KEY}2", "sales", ("app", "b"))
PLACE = Place(Pooler(config_dir="/nowhere"), "/etc/pgbouncer")


def rules_in(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_users_meet_the_method_and_all_others_a_reject_before_the_operators_own() -> None:
    own = access_rules.of_method("plain")
    assert rules_in(access_rules.render([APP], {}, own)) == [
        'local "orders" "app" password',
        'host "orders" "app" 0.0.0.0/0 password',
        'host "orders" "app" ::/0 password',
        'local "orders" all reject',
        'host "orders" all 0.0.0.0/0 reject',
        'host "orders" all ::/0 reject',
        *own.splitlines(),
    ]


@pytest.mark.parametrize(
    ("rule", "narrowed"),
    [
        ("local all all scram-sha-256", 'local "orders" "app" md5'),
        ("host all all 10.0.0.0 255.0.0.0 password", 'host "orders" "app" 10.0.0.0 255.0.0.0 md5'),
        ("hostssl orders app 0.0.0.0/0 scram-sha-256 # md5", 'hostssl "orders" "app" 0.0.0.0/0 md5 # md5'),
        ("host all all ::/0 cert map=md5", 'host "orders" "app" ::/0 cert map=md5'),
        ("host all all ::/0 trust", 'host "orders" "app" ::/0 trust'),
        ("host all all ::/0 reject", 'host "orders" "app" ::/0 reject'),
    ],
)
def test_a_password_method_of_the_pools_replaces_that_of_a_rule_and_no_other_method(rule: str, narrowed: str) -> None:
    text = access_rules.render([APP._replace(method="md5")], {}, rule)
    assert rules_in(text)[0] == narrowed
    assert access_rules.read(text) == {APP.pool: APP._replace(method="md5")}


@pytest.mark.parametrize(
    ("rule", "narrowed"),
    [
        (
            "host all all 10.0.0.0/8 md5",
            ['host "orders" "app" 10.0.0.0/8 md5', 'host "sales" "app","b" 10.0.0.0/8 md5'],
        ),
        ("hostssl sales b,c ::1 ff:: cert map=m # x", ['hostssl "sales" "b" ::1 ff:: cert map=m # x']),
        ('local orders , sales "app" peer', ['local "orders" "app" peer', 'local "sales" "app" peer']),
        ("host sameuser all ::/0 md5", []),
        ('host "all" all ::/0 md5', []),  # quoted, it is the name of a database
        ("host all stranger ::/0 trust", []),
        (
            "host all all 0.0.0.0/0 reject",
            ['host "orders" "app" 0.0.0.0/0 reject', 'host "sales" "app","b" 0.0.0.0/0 reject'],
        ),
        ("nonsense all all md5", []),
        ('host "all all md5', []),
        ("", []),
    ],
)
def test_a_rule_of_the_operators_is_narrowed_to_the_users_of_the_pools_it_is_about(
    rule: str, narrowed: list[str]
) -> None:
    found = rules_in(access_rules.render([APP, TWO], {}, rule))
    assert found[: found.index('local "orders","sales" all reject')] == narrowed


def test_sameuser_is_the_user_of_the_pools_name() -> None:
    admission = Admission(f"{KEY}1", "app", ("app", "b"))
    assert (
        rules_in(access_rules.render([admission], {}, "host sameuser all ::/0 md5"))[0] == 'host "app" "app" ::/0 md5'
    )


def test_pools_are_told_apart_by_their_users_and_how_these_prove_their_passwords() -> None:
    alike = [Admission(f"{KEY}{at}", f"p{at}", ("app",), method) for at, method in enumerate(("", "md5", "", "md5"))]
    admissions = [*alike, TWO]
    text = access_rules.render(admissions, {}, "local all all scram-sha-256\nhost p0,p1,sales app,b ::/0 trust")
    assert rules_in(text)[:6] == [
        'local "p0","p2" "app" scram-sha-256',
        'local "p1","p3" "app" md5',
        'local "sales" "app","b" scram-sha-256',
        'host "p0" "app" ::/0 trust',
        'host "p1" "app" ::/0 trust',
        'host "sales" "app","b" ::/0 trust',
    ]
    assert rules_in(text)[6] == 'local "p0","p1","p2","p3","sales" all reject'
    assert access_rules.read(text) == {one.pool: one for one in admissions}


@pytest.mark.django_db
def test_a_password_is_asked_for_once_however_many_pools_admit_its_role(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    pooler, clusters = records.a_pooler(), [records.a_cluster(name=name) for name in ("one", "two")]
    for cluster in clusters:
        cluster.keep_password("app", f"password of {cluster}")
    pools = [records.a_pool(pooler=pooler, cluster=clusters[at % 2], name=f"p{at}") for at in range(6)]
    admissions = {pool.key: Admission(pool.key, pool.name, ("app", "unknown")) for pool in pools}
    with django_assert_num_queries(4):  # two roles on each of two clusters
        found = access.admitted_passwords(pools, admissions, {"left": "x"})
    assert found == {"app": f"password of {pools[-1].cluster}"}


names = st.text(
    st.characters(exclude_characters="\0\r\n\ufeff\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", exclude_categories=["Cs"]),
    min_size=1,
)


@given(st.lists(names, min_size=1, unique=True))
def test_users_are_read_back_as_written(users: list[str]) -> None:
    admission = Admission(f"{KEY}1", "orders", tuple(users))
    text = access_rules.render([admission], {"auth_type": "md5"}, access_rules.of_method("md5"))
    assert access_rules.read(text) == {admission.pool: admission}
    assert access_rules.own_in(text) == {"auth_type": "md5"}


@pytest.mark.parametrize("auth_type", ["any", "pam"])
def test_what_no_rule_can_say_leaves_the_doors_written_and_unused(auth_type: str) -> None:
    found = access.of([APP], {"auth_type": auth_type, "auth_hba_file": ""}, Spec(), PLACE)
    assert (found.settings, found.auth_type) == ({}, auth_type)
    assert rules_in(found.files[ACCESS]) == []
    assert access_rules.read(found.files[ACCESS]) == {APP.pool: APP}
    assert access_rules.obstacle_in(found.files[ACCESS]).startswith(f"auth_type {auth_type} can't be combined")


def test_a_certificate_is_asked_for_over_tls_alone() -> None:
    assert access_rules.of_method("cert") == "hostssl all all 0.0.0.0/0 cert\nhostssl all all ::/0 cert\n"


@pytest.mark.parametrize("rule", ["host all all,+staff ::/0 trust", "host samerole,all all ::/0 trust"])
def test_a_rule_that_pgbouncer_passes_over_is_not_narrowed(rule: str) -> None:
    assert rules_in(access_rules.render([APP], {}, rule))[0] == 'local "orders" all reject'


@pytest.mark.parametrize(
    ("rules", "why"), [("host all @names ::/0 md5", "/names"), (None, "/etc/hba.conf can't be read from here")]
)
def test_rules_that_can_not_be_taken_along_are_no_reason_to_lose_them(rules: str | None, why: str) -> None:
    path = "/etc/hba.conf" if rules is None else "/etc/pgbouncer/pooldeck_hba.conf"
    given_files = {} if rules is None else {"pooldeck_hba.conf": rules}
    spec = Spec({"auth_type": "hba", "auth_hba_file": path}, {}, given_files)
    found = access.of([APP], {"auth_type": "md5", "auth_hba_file": ""}, spec, PLACE)
    assert (found.settings, why in found.obstacle) == ({}, True)


def test_without_doors_nothing_is_written() -> None:
    found = access.of([], {"auth_type": "md5", "auth_hba_file": ""}, Spec(), PLACE)
    assert (found.settings, found.files) == ({}, {})


def test_the_operators_part_is_found_behind_the_panels() -> None:
    text = access_rules.render([APP], {"auth_type": "plain", "auth_hba_file": ""}, "")
    settled = {SETTINGS: f"auth_type = hba\nauth_hba_file = /x/{ACCESS}\n", ACCESS: text}
    live = {"auth_type": "hba", "auth_hba_file": f"/x/{ACCESS}"}
    assert access.own_values({}, settled, live) == {"auth_type": "plain", "auth_hba_file": ""}
    assert access.own_values({"auth_type": "md5"}, settled, live)["auth_type"] == "md5"
    assert access.own_values({}, {}, {"auth_type": "trust"})["auth_type"] == "trust"
    assert access.own_values({}, {SETTINGS: "auth_type = trust\n"}, {"auth_type": "trust"})["auth_type"] == "md5"


@pytest.mark.parametrize(
    ("main", "is_overridden"),
    [
        ("[pgbouncer]\nauth_type = md5\n%include /x/pooldeck_settings.ini\n", False),
        ("[pgbouncer]\n%include /x/own.ini\n", False),
        ("[pgbouncer]\n%include /x/own-and-leaves.ini\n", True),
        ("[pgbouncer]\n%include /x/pooldeck_settings.ini\n%include /x/own.ini\n", True),
        ("[pgbouncer]\n%include /x/own.ini\n%include /x/pooldeck_settings.ini\n", False),
        ("[pgbouncer]\n%include /x/own.ini\n[pgbouncer]\nuser = x\n", False),
        ("[pgbouncer]\n%include /x/empty.ini\nauth_type = md5\n", False),
        ("[pgbouncer]\n%include /x/gone.ini\nauth_type = md5\n", True),
        ("[pgbouncer]\nuser = x\n%include /x/reopens.ini\n", True),
        ("[pgbouncer]\nauth_type = md5\n%include /x/empty.ini\n", False),
        ("[pgbouncer]\n%include /x/pooldeck_settings.ini\nauth_type = md5\n", True),
        ("[pgbouncer]\n%include /x/pooldeck_settings.ini\n[databases]\nauth_type = host=x\n", False),
    ],
)
def test_a_line_may_be_read_after_the_panels_settings(main: str, is_overridden: bool) -> None:
    texts = {
        "own": "auth_type = trust\n",
        "own-and-leaves": "auth_type = trust\n[databases]\n",
        "reopens": "[databases]\n[pgbouncer]\n",
        "empty": "",
    }

    def load(path: str) -> str:
        try:
            return texts[path.removeprefix("/x/").removesuffix(".ini")]
        except KeyError:
            raise FileNotFoundError(2, "No such file or directory", path) from None

    reading = operators_config.read(main, {}, load)
    included = reading.with_main(render.with_settings_include(main, "/x", reading.goes_on), {})
    assert bool(access.overridden(included)) == is_overridden


def lines_taken_out(text: str) -> list[str]:
    """The text without its first line, without its first two, and so on."""
    return [text.split("\n", at)[at] for at in range(1, text.count("\n"))]


def test_what_is_read_of_a_file_without_its_first_lines_are_its_lines() -> None:
    own = {"auth_type": "md5", "auth_hba_file": "", "sha256": "0" * 64}
    text = access_rules.render([APP], own, access_rules.of_method("md5"))
    begins = [access_rules.own_in(left) for left in lines_taken_out(text)]
    assert own in begins  # its comment alone is gone
    assert {"sha256": "0" * 64} in begins
    unused = access_rules.render([APP], own, "", "pam can't be combined")
    assert access_rules.obstacle_in(unused[unused.index("# not in use") :]) == "pam can't be combined"


def test_rules_whose_first_lines_were_taken_out_say_nothing_of_the_operators_settings() -> None:
    of_today = access.of([APP], {"auth_type": "md5", "auth_hba_file": ""}, Spec(), PLACE)
    text = of_today.files[ACCESS]
    changed = [access.changed_since({ACCESS: left}, {"auth_type": "plain"}, PLACE) for left in lines_taken_out(text)]
    assert "auth_type plain waits for the next apply" in changed[0]
    assert set(changed[1:]) == {""}


def test_peers_are_found_in_the_first_line_too() -> None:
    section = "[peers]\n1 = host=/tmp\n2 = host=/run\n"
    assert render.peers_of(section) == render.peers_of(f"{render.HEAD}{section}[databases]\n") == section
    assert render.peers_of("; [peers]\n1 = host=/tmp\n") == ""
