"""Whatever the panel accepts for a Pgpool-II loads, reads back equal and lets in; what it refuses is misread there."""

import os
import string
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import sql as pg_sql

from panel.quickstart import account
from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PostgresServer
from pools.models import Pooler
from pools.poolers import KINDS
from pools.poolers.pgpool import child_processes, hba_access, pcp, render, sql, verify
from pools.poolers.pgpool.config_builder import rendered
from pools.poolers.pgpool.hba_access import Access
from pools.poolers.pgpool.settings_catalog import by_name
from pools.poolers.settings_schema import Setting, Type, fault_of
from tests.live.standbys import until

pytestmark = pytest.mark.django_db(transaction=True)

EXAMPLES = int(os.environ.get("POOLDECK_TEST_EXAMPLES", "25"))
QUICKLY = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # each step of a shrinking would wait for a login
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
RESERVED = ("none", "public")  # PostgreSQL makes no such roles
# they would end the sessions that look, or detach the only backend
LEFT_ALONE = {"health_check_period", "reset_query_list", "client_idle_limit"}
# without the separators and patterns of lists, which are another matter than quoting
SIGNS = st.characters(codec="utf-8", exclude_characters="'\r\n\0")
WORDS = st.text(SIGNS, min_size=1, max_size=40).filter(str.strip)
LISTS = st.lists(st.text(string.ascii_lowercase + "_", min_size=1, max_size=10), min_size=1, max_size=3)


def values_of(setting: Setting) -> st.SearchStrategy[Any]:
    """Values of which the panel accepts many."""
    if setting.type == Type.BOOLEAN:
        return st.sampled_from(["0", "1"])
    if setting.type == Type.NUMBER:
        return st.integers(int(setting.minimum or 0), int(setting.maximum or 0))
    if setting.type == Type.CHOICE:
        return st.sampled_from(setting.choices)
    if setting.name.endswith("preference_list"):
        return LISTS.map(lambda names: ",".join(f"{name}:primary" for name in names))
    if setting.name.endswith("relationship_list"):
        return LISTS.map(lambda names: ",".join(f"{name}:{name}" for name in names))
    return LISTS.map(",".join) if setting.name.endswith("_list") else WORDS


@pytest.fixture
def known(pgpool_pooler: Pooler, own_pgpool: PgpoolServer) -> dict[str, Setting]:
    """What a reload takes of the release; the panel's PCP login is in place."""
    line = f"{own_pgpool.backend.superuser}:{pcp.stored(own_pgpool.backend.password)}\n"
    account.write_private(own_pgpool.config_dir / "pcp.conf", line)
    found = by_name(KINDS["pgpool"].version_of(pgpool_pooler.server_version))
    return {name: one for name, one in found.items() if not one.restart and name not in LEFT_ALONE}


def written(server: PgpoolServer, pooler: Pooler, text: str) -> None:
    """Bring a panel's part live."""
    conf = server.config_dir / "pgpool.conf"
    account.write_private(conf, render.file(render.kept(conf.read_text()), text))
    pcp.reload_config(pooler)


def live(pooler: Pooler) -> dict[str, str]:
    with sql.open(pooler) as session:
        return sql.settings(session)


def wrong(pooler: Pooler, wanted: dict[str, str], known: dict[str, Setting]) -> dict[str, tuple[str, str]]:
    """What is not live as written, but for what a start alone takes."""
    found = verify.differences(live(pooler), wanted, known)
    return {name: pair for name, pair in found.items() if not verify.waits_for_restart(name, known)}


def test_accepted_settings_load_and_read_back_equal(
    known: dict[str, Setting], own_pgpool: PgpoolServer, pgpool_pooler: Pooler
) -> None:
    at_hand = [one for name, one in known.items() if not name.startswith("backend_") or name.endswith("0")]
    drawn = st.lists(st.sampled_from(at_hand), min_size=1, max_size=8, unique_by=lambda one: one.name)

    @QUICKLY
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        asked = {one.name: data.draw(values_of(one), label=one.name) for one in data.draw(drawn)}
        wanted = {n: rendered(known[n], value) for n, value in asked.items() if not fault_of(known[n], value)}
        written(own_pgpool, pgpool_pooler, render.settings(wanted))
        try:  # each child reloads when it is idle, and another one may answer the next question
            until(lambda: wrong(pgpool_pooler, wanted, known) == {}, within_s=5)
        except AssertionError:
            assert wrong(pgpool_pooler, wanted, known) == {}

    holds()


@pytest.mark.parametrize("value", ["it's", "two\nport = 1", "a'b'c"])
def test_a_text_that_is_refused_is_misread(
    known: dict[str, Setting], own_pgpool: PgpoolServer, pgpool_pooler: Pooler, value: str
) -> None:
    assert fault_of(known["syslog_ident"], value)
    written(own_pgpool, pgpool_pooler, f"syslog_ident = '{value}'\n")
    with pytest.raises(AssertionError):
        until(lambda: live(pgpool_pooler)["syslog_ident"] == value, within_s=1)


@pytest.mark.parametrize(
    ("name", "value"), [("client_min_messages", "loud"), ("connect_timeout", "soon"), ("connect_timeout", "3000000000")]
)
def test_a_value_that_is_refused_is_passed_over_in_silence(
    known: dict[str, Setting], own_pgpool: PgpoolServer, pgpool_pooler: Pooler, name: str, value: str
) -> None:
    before = live(pgpool_pooler)[name]
    assert fault_of(known[name], value)
    written(own_pgpool, pgpool_pooler, f"{name} = {value}\nlog_hostname = on\n")
    until(lambda: live(pgpool_pooler)["log_hostname"] == "on")
    assert live(pgpool_pooler)[name] == before


def test_accepted_names_and_passwords_let_in(
    known: dict[str, Setting], own_pgpool: PgpoolServer, pgpool_pooler: Pooler, postgres: PostgresServer
) -> None:
    names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=15)
    names = names.filter(lambda name: len(name.encode()) <= 60 and not name.startswith("pg_") and name not in RESERVED)
    secrets = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=124)

    @settings(QUICKLY, max_examples=max(10, EXAMPLES // 2))
    @given(database=names, role=names, password=secrets)
    def holds(database: str, role: str, password: str) -> None:
        if hba_access.name_problem(database) or hba_access.name_problem(role) or hba_access.password_problem(password):
            return
        with role_and_database(postgres, role, password, database):
            admit(own_pgpool, pgpool_pooler, Access(pgpool_pooler.pk, database, role), password)
            assert logs_in(pgpool_pooler, database, role, password)
            assert not logs_in(pgpool_pooler, database, role, password + "x")

    holds()


class role_and_database:
    """A role and its database while it lasts."""

    def __init__(self, server: PostgresServer, role: str, password: str, database: str) -> None:
        self.server, self.names, self.password = (
            server,
            (pg_sql.Identifier(role), pg_sql.Identifier(database)),
            password,
        )

    def __enter__(self) -> None:
        role, database = self.names
        with self.server.connect() as session:
            session.execute(pg_sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, pg_sql.Literal(self.password)))
            session.execute(pg_sql.SQL("CREATE DATABASE {} OWNER {} STRATEGY wal_log").format(database, role))

    def __exit__(self, *_: object) -> None:
        role, database = self.names
        with self.server.connect() as session:
            session.execute(pg_sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))
            session.execute(pg_sql.SQL("DROP ROLE {}").format(role))


def admit(server: PgpoolServer, pooler: Pooler, one: Access, password: str) -> None:
    """Write pool_passwd and pool_hba.conf as an apply does, and have every child read them."""
    admin = pooler.admin_user
    secrets = {admin: pooler.admin_password, one.user: password}
    for name, text in (("pool_passwd", render.passwords(secrets)), ("pool_hba.conf", render.admissions([one], admin))):
        path = server.config_dir / name
        account.write_private(path, render.file("", text))
    everybody = pcp.children(pooler)
    until(lambda: not child_processes.reload(pooler, everybody))


def logs_in(pooler: Pooler, database: str, role: str, password: str) -> bool:
    try:
        with sql.connect(pooler, database, role, password) as session:
            found = session.execute(b"SELECT current_user, current_database()").fetchone()
            return found == {"current_user": role, "current_database": database}
    except psycopg.OperationalError:
        return False


def test_a_password_longer_than_its_word_is_refused_because_it_is_cut(
    known: dict[str, Setting], own_pgpool: PgpoolServer, pgpool_pooler: Pooler, postgres: PostgresServer
) -> None:
    longest, longer = "p" * hba_access.LONGEST_PASSWORD, "p" * (hba_access.LONGEST_PASSWORD + 1)
    assert not hba_access.password_problem(longest)
    assert hba_access.password_problem(longer)
    for password, lets_in in ((longest, True), (longer, False)):
        with role_and_database(postgres, "tall", password, "tall"):
            admit(own_pgpool, pgpool_pooler, Access(pgpool_pooler.pk, "tall", "tall"), password)
            tried = [logs_in(pgpool_pooler, "tall", "tall", password) for _ in range(10)]
            assert set(tried) == {lets_in}
