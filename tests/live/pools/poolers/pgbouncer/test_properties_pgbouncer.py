"""Whatever the validator accepts a real PgBouncer loads, reads back equal, and lets in; what it refuses is misread."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import sql

from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment
from pools.models import Cluster, Pool, Pooler, PoolState
from pools.poolers import settings_schema
from pools.poolers.pgbouncer.settings_catalog import CATALOG
from pools.poolers.settings_schema import Scope, Version
from tests.live.pools.poolers.pgbouncer.drawn import ELSEWHERE, IDENTIFIERS, PASSWORDS, POOL_NAMES, USERS, settings_of

pytestmark = pytest.mark.django_db(transaction=True)

POOLS_AT_ONCE = 20
LIVE = settings(
    max_examples=2,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
    phases=[Phase.explicit, Phase.generate],  # shrinking would take an apply for each step
)
CASES: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def count() -> Iterator[None]:
    """Says in the end how much was tried."""
    yield
    print("\ncases tried on a real PgBouncer:", dict(CASES))


@contextlib.contextmanager
def roles(postgres: PostgresServer, cluster: Cluster, passwords: dict[str, str]) -> Iterator[None]:
    """Roles with these passwords, known to the panel."""
    with postgres.connect() as session:
        for role, password in passwords.items():
            session.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))
            make = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
            session.execute(make.format(sql.Identifier(role), sql.Literal(password)))
            known, _ = cluster.role_passwords.get_or_create(role=role)
            known.password = password
            known.save()
        try:
            yield
        finally:
            for role in passwords:
                session.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


@LIVE
@given(data=st.data())
def test_any_pools_that_are_accepted_load_read_back_and_let_their_users_in(
    data: st.DataObject, pooler: Pooler, cluster: Cluster, postgres: PostgresServer, version: Version
) -> None:
    Pool.objects.all().delete()
    passwords = data.draw(st.dictionaries(IDENTIFIERS, PASSWORDS, min_size=5, max_size=5))
    chosen = data.draw(st.lists(POOL_NAMES, min_size=POOLS_AT_ONCE, max_size=POOLS_AT_ONCE, unique=True))
    small = settings_of(Scope.POOL, version, frozenset({"auth_dbname", "auth_query", "connect_query"}))
    with roles(postgres, cluster, passwords):
        made = [
            Pool.objects.create(
                name=name,
                pooler=pooler,
                cluster=cluster,
                database=data.draw(st.sampled_from(["app", "postgres"])),
                user=data.draw(st.sampled_from(sorted(passwords))),
                size=data.draw(st.integers(1, 500)),
                mode=data.draw(st.sampled_from(["session", "transaction", "statement"])),
                settings=_harmless(data.draw(small)),
            )
            for name in chosen
        ]
        deployment.apply_pooler(pooler)
        found = dict(Pool.objects.values_list("name", "state_reason"))
        assert {name: reason for name, reason in found.items() if reason} == {}
        assert set(Pool.objects.values_list("state", flat=True)) == {PoolState.APPLIED}
        CASES["pools"] += len(made)


def _harmless(values: dict[str, object]) -> dict[str, object]:
    """Without what PostgreSQL, not PgBouncer, would refuse at the login, or what would open or forbid connections."""
    usual = {"client_encoding": "UTF8", "datestyle": "ISO, DMY", "timezone": "UTC", "application_name": "it's \\ %"}
    capped = {"min_pool_size": 0, "max_db_client_connections": 0}
    return {name: {**usual, **capped}.get(name, value) for name, value in values.items()}


@LIVE
@given(data=st.data())
def test_any_settings_and_limits_that_are_accepted_are_live_as_asked(
    data: st.DataObject, pooler: Pooler, version: Version
) -> None:
    for _ in range(5):
        asked = data.draw(settings_of(Scope.PROGRAM, version, frozenset(ELSEWHERE)))
        limits = data.draw(st.dictionaries(USERS, settings_of(Scope.USER, version), max_size=4))
        limits = {user: own for user, own in limits.items() if own}
        pooler.edit(None, settings=asked, user_settings=limits, settings_state=PoolState.PENDING, settings_reason="")
        deployment.apply_pooler(pooler)
        pooler.refresh_from_db()
        assert (pooler.settings_state, pooler.settings_reason) == (PoolState.APPLIED, ""), (asked, limits)
        CASES["settings"] += len(asked)
        CASES["limits"] += sum(map(len, limits.values()))


@pytest.fixture
def misread(pgbouncer: PgBouncerServer) -> Callable[[str, str], bool]:
    """Writes a line into [pgbouncer] by hand; whether the program then has another value than written, or none."""

    def write(name: str, value: str) -> bool:
        ini = pgbouncer.config_dir / "pgbouncer.ini"
        before = ini.read_text()
        ini.write_text(before + f"{name} = {value}\n")
        try:
            with pgbouncer.connect() as console, contextlib.suppress(psycopg.Error):
                console.execute(b"RELOAD")
            with pgbouncer.connect() as console:
                live = {row[0]: row[1] for row in console.execute(b"SHOW CONFIG")}
        finally:
            ini.write_text(before)
        return live.get(name) != value

    return write


MISREAD = [
    ("query_timeout", "soon"),
    ("query_timeout", "-1"),
    ("max_client_conn", "2147483648"),
    ("max_client_conn", "1e3"),
    ("pool_mode", "fast"),
    ("server_tls_sslmode", "full"),
    ("no_such", "1"),
    ("log_stats", "yes"),
]


@pytest.mark.parametrize(("name", "value"), MISREAD)
def test_what_the_validator_refuses_the_program_misreads(
    name: str, value: str, misread: Callable[[str, str], bool], version: Version
) -> None:
    assert dict(settings_schema.problems(CATALOG, Scope.PROGRAM, {name: value}, version))
    assert misread(name, value)
    CASES["refused"] += 1
