"""Entries of [databases]: from a pool to a line and back, and which of them a reload has to be without first."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pools.models import Cluster, Pool, Pooler
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import database_entries
from pools.poolers.pgbouncer.database_entries import Entry, LoginCache, Reader

POOL = UUID("6f1ab2de-0000-4000-8000-000000000001")
V18, V24 = (1, 18), (1, 24)


def entry(**fields: object) -> Entry:
    usual = {
        "pool": str(POOL),
        "name": "orders",
        "host": "db1.example.com",
        "port": 5432,
        "database": "shop",
        "user": "app",
        "password": "it's",
        "auth_user": "",
        "mode": "transaction",
        "size": 20,
    }
    return Entry(**(usual | fields))


def test_a_fixed_user_carries_its_password() -> None:
    assert entry().line() == (
        f"; pool {POOL}\n"
        "orders = host='db1.example.com' port=5432 dbname='shop' user='app' password='it''s' "
        "pool_size=20 pool_mode=transaction max_db_connections=20"
    )


def test_the_inbound_user_names_who_looks_secrets_up() -> None:
    assert entry(user="", password="", auth_user="postgres").line() == (
        f"; pool {POOL}\n"
        "orders = host='db1.example.com' port=5432 dbname='shop' auth_user='postgres' "
        "pool_size=20 pool_mode=transaction max_db_connections=20"
    )


def test_a_repr_hides_the_password() -> None:
    assert "it's" not in repr(entry())


values = st.text(st.characters(exclude_characters="\0\r\n", exclude_categories=["Cs"]), min_size=1, max_size=60)


@given(host=values, database=values, user=values, password=values, size=st.integers(1, 10**6))
def test_what_is_written_is_read_back(host: str, database: str, user: str, password: str, size: int) -> None:
    wanted = [
        entry(host=host, database=database, user=user, password=password, size=size),
        entry(name="a.b-c_D", user="", password="", auth_user=user, settings={"min_pool_size": "3", "timezone": user}),
    ]
    text = "[databases]\n" + "\n".join(one.line() for one in wanted) + "\n"
    assert database_entries.read(text) == wanted


bare = st.text("ab'=\\ ;\t\u00a0\u0661", max_size=5)


@given(user=bare, password=bare, auth_user=bare, size=st.integers(1, 30), settings=st.booleans())
def test_a_line_that_was_read_stands_for_what_would_be_written(
    user: str, password: str, auth_user: str, size: int, settings: bool
) -> None:
    written = {"reserve_pool": "2"} if settings else {}
    one = entry(user=user, password=password if user else "", auth_user=auth_user, size=size, settings=written)
    reader = Reader()
    (read,) = reader.read(one.line() + "\n")
    assert read == one
    assert reader.line(read) == one.line()


@pytest.mark.parametrize(
    "line",
    [
        "orders = host='h' port=05432 dbname='d' user='u' password='p' pool_size=3 pool_mode=session "
        "max_db_connections=3",
        "orders = host='h' port=5432 dbname='d' user='u' password='p' pool_size=3 pool_mode=session",
        "orders = dbname='d' host='h' port=5432 user='u' password='p' pool_size=3 pool_mode=session",
        "orders = host=h port=5432 dbname=d user=u password=p pool_size='3' pool_mode=session max_db_connections=9",
    ],
)
def test_a_line_of_another_form_is_read_and_written_anew(line: str) -> None:
    reader = Reader()
    (read,) = reader.read(f"; pool {POOL}\n{line}\n")
    assert reader.line(read) == (
        f"; pool {POOL}\norders = host='h' port=5432 dbname='d' user='u' password='p' pool_size=3 pool_mode=session "
        "max_db_connections=3"
    )


def test_a_second_text_is_read_like_the_first() -> None:
    one, two, three = (entry(name=f"orders{number}", pool=f"{number}" * 36) for number in (1, 2, 3))
    second = f"; a head\n[databases]\n{two.line()}\n; by hand\n{three.line()}\n{one.line()}\n\n[users]\napp = x='1'\n"
    third = f"{one.line()}\nx = host=h ; pool \n{two.line()}"
    reader = Reader()
    assert reader.read(f"[databases]\n{one.line()}\n{two.line()}\n") == [one, two]
    assert reader.read(second) == database_entries.read(second) == [two, three, one]
    assert reader.read(third) == database_entries.read(third) == [one, two]
    assert reader.read("") == []


def test_lines_of_others_are_passed_over() -> None:
    assert database_entries.read("; a comment\n[databases]\nmine = host=h port=1\n") == []


@pytest.fixture
def pool(db: None) -> Pool:
    """An unsaved pool of a saved cluster whose admin and `app` the panel can log in as."""
    cluster = Cluster(name="main", host="db1", port=5432, admin_user="postgres")
    cluster.admin_password = "admin-password"
    cluster.save()
    role = cluster.role_passwords.model(cluster=cluster, role="app")
    role.password = "app-password"
    role.save()
    pooler = Pooler(name="edge", host="edge", config_dir="/etc/pgbouncer")
    return Pool(name="orders", pooler=pooler, cluster=cluster, database="shop", user="app", size=5)


def test_a_pool_becomes_an_entry(pool: Pool) -> None:
    assert database_entries.of_pool(pool, V18, LoginCache()) == entry(
        pool=pool.key, host="db1", password="app-password", size=5
    )


def test_an_inbound_pool_becomes_an_entry_of_the_admin(pool: Pool) -> None:
    pool.user = ""
    expected = entry(pool=pool.key, host="db1", user="", password="", auth_user="postgres", size=5)
    assert database_entries.of_pool(pool, V18, LoginCache()) == expected


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": "a b"}, "'a b' can't name a pool"),
        ({"name": "pgbouncer"}, "'pgbouncer' is the name of PgBouncer's own console"),
        ({"database": "x\n%include /etc/passwd"}, "database of pool orders: .* contains a line break"),
        ({"user": "nobody"}, "the panel doesn't know the password of nobody on main: give it with the pool"),
        ({"settings": {"pool_mode": "session"}}, "pool_mode is not a setting of a pool, but of: program, user"),
        ({"settings": {"server_lifetime": 3}}, r"server_lifetime came with 1\.23, and this is 1\.18"),
        ({"settings": {"min_pool_size": "3; x"}}, "min_pool_size='3; x' is not a whole number"),
        ({"settings": {"timezone": "UTC\nx=1"}}, "timezone: a line break or NUL"),
        ({"settings": {"timezone": ""}}, "timezone is empty"),
    ],
)
def test_what_pgbouncer_would_misread_is_refused_and_the_pool_blamed(
    fields: dict[str, object], reason: str, pool: Pool
) -> None:
    for name, value in fields.items():
        setattr(pool, name, value)
    with pytest.raises(Rejected, match=reason) as refused:
        database_entries.of_pool(pool, V18, LoginCache())
    assert refused.value.pools == {pool.pk}


@pytest.mark.parametrize(("version", "key"), [(V18, "reserve_pool"), (V24, "reserve_pool_size")])
def test_a_setting_is_named_as_the_release_names_it(pool: Pool, version: tuple[int, int], key: str) -> None:
    pool.settings = {"reserve_pool": 2}
    assert database_entries.of_pool(pool, version, LoginCache()).settings == {key: "2"}


NAMES, USERS = ("orders", "sales"), ("app", "report")


def known(name: str, user: str) -> Entry:
    return entry(name=name, user=user, password="secret" if user else "", auth_user="" if user else "looker")


entries = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(("", *USERS))).map(
    lambda found: [known(name, user) for name, user in found.items()]
)
forced = st.dictionaries(st.sampled_from(NAMES), st.sampled_from((None, *USERS)))
pools = st.lists(st.fixed_dictionaries({"database": st.sampled_from(NAMES), "user": st.sampled_from(USERS)}))


@given(st.sampled_from([(1, 18), (1, 24), (1, 25)]), entries, forced, pools, st.sets(st.sampled_from(USERS)))
def test_where_none_is_possible_none_is_found(
    version: tuple[int, int],
    wanted: list[Entry],
    forced: dict[object, object],
    pools: list[dict[str, object]],
    listed: set[str],
) -> None:
    found = {
        *database_entries.without_fixed_user(forced, wanted),
        *database_entries.crashing_entries(version, pools, forced, wanted, listed, USERS),
    }
    assert database_entries.may_need_removal(version, wanted) or not found


@pytest.mark.parametrize(("user", "lost"), [("app", set()), ("report", set()), ("", {"orders"})])
def test_an_entry_that_shall_have_no_fixed_user_has_to_leave_first(user: str, lost: set[str]) -> None:
    assert database_entries.without_fixed_user({"orders": "app"}, [known("orders", user)]) == lost


@pytest.mark.parametrize(("version", "dies"), [((1, 18), True), ((1, 23), True), ((1, 24), False)])
def test_a_user_with_a_pool_must_not_be_found_otherwise_before_1_24(version: tuple[int, int], dies: bool) -> None:
    rows = [{"database": "orders", "user": "app"}]
    found = database_entries.crashing_entries(version, rows, {"orders": None}, [known("orders", "app")], set(), set())
    assert found == ({("orders", "app")} if dies else set())
