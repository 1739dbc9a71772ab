"""A Pgpool-II whose server or whose children are all taken: its pools wait, and nobody is called wrong for it."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest

from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PostgresServer
from pools import deployment
from pools.models import Cluster, Pool, Pooler, PoolState, RevisionState
from pools.poolers.pgpool import session
from pools.poolers.pgpool.session import PgpoolSession
from tests.live.conftest import CHILDREN
from tests.live.pools.conftest import state_of
from tests.live.pools.deployment.test_apply_attempts import full
from tests.live.pools.deployment.test_pgpool_apply import log_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("without_trial")]


@pytest.fixture
def pool(cluster: Cluster, pgpool_pooler: Pooler) -> Pool:
    """A pending pool of database `app` and user `app`."""
    values = {"name": "app", "database": "app", "user": "app", "mode": "session", "size": CHILDREN}
    return Pool.objects.create(pooler=pgpool_pooler, cluster=cluster, **values)


def files_of(server: PgpoolServer) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in server.config_dir.iterdir()}


def once(monkeypatch: pytest.MonkeyPatch, name: str, before: Callable[[], None]) -> None:
    """Has something happen right before a step of the first attempt."""
    step = getattr(PgpoolSession, name)

    def first(*values: object) -> None:
        monkeypatch.setattr(PgpoolSession, name, step)
        before()
        step(*values)

    monkeypatch.setattr(PgpoolSession, name, first)


def test_a_full_server_is_found_before_anything_is_written(
    pool: Pool, pgpool_pooler: Pooler, own_pgpool: PgpoolServer, postgres: PostgresServer
) -> None:
    before = files_of(own_pgpool)
    with full(postgres):
        revision = deployment.apply_pooler(pgpool_pooler)
    assert (revision.state, files_of(own_pgpool)) == (RevisionState.FAILED, before)
    state, reason = state_of(pool)
    assert (state, reason.startswith("cluster live refuses all logins for now: ")) == (PoolState.PENDING, True), reason
    assert deployment.waiting_poolers() == []  # it rests
    assert deployment.apply_pooler(pgpool_pooler).state == RevisionState.APPLIED
    assert (state_of(pool), log_in(own_pgpool)) == ((PoolState.APPLIED, ""), "app")


@contextmanager
def children_taken(server: PgpoolServer) -> Iterator[None]:
    """Takes every child that lets a client in."""
    address = {"host": server.host, "port": server.port, "dbname": "postgres", "connect_timeout": 2}
    login = {"user": server.backend.superuser, "password": server.backend.password}
    with ExitStack() as taken:
        with pytest.raises(psycopg.OperationalError):  # noqa: PT012 (one of many is the one refused)
            for _ in range(100):
                taken.enter_context(psycopg.connect(**address, **login))
        yield


def freed_once_told(monkeypatch: pytest.MonkeyPatch, taken: ExitStack) -> None:
    """Has everything free again when the old configuration is proved."""
    report = PgpoolSession._refuse_busy

    def tell_then_free(*values: object) -> None:
        try:
            report(*values)
        finally:
            taken.close()

    monkeypatch.setattr(PgpoolSession, "_refuse_busy", tell_then_free)


DESCRIBED = {
    "server": r"cluster live refuses all logins for now: .* has too many connections already: close some",
    "children": r"pooler live-pgpool refuses all logins for now, all its children are taken \(.*\): close some clients",
}


@pytest.mark.parametrize(
    ("what", "freed"),
    [
        pytest.param("server", True, id="server for a moment"),
        pytest.param("server", False, id="server for longer", marks=pytest.mark.slow),
        pytest.param("children", True, id="children for a moment", marks=pytest.mark.slow),
        pytest.param("children", False, id="children for longer"),
    ],
)
def test_what_fills_up_before_the_login_rolls_back_and_keeps_the_pool_waiting(
    what: str,
    freed: bool,
    pool: Pool,
    pgpool_pooler: Pooler,
    own_pgpool: PgpoolServer,
    postgres: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "SEEN_WITHIN_S", 3)
    before = files_of(own_pgpool)
    with ExitStack() as taken:
        filling = full(postgres) if what == "server" else children_taken(own_pgpool)
        once(monkeypatch, "log_in", lambda: taken.enter_context(filling))
        if freed:
            freed_once_told(monkeypatch, taken)
        deployment.apply_pooler(pgpool_pooler)
    revision = pgpool_pooler.revisions.get()
    assert (revision.state, state_of(pool)[0]) == (RevisionState.FAILED, PoolState.PENDING)
    assert re.match(DESCRIBED[what], pool.state_reason if freed else revision.reason), (
        revision.reason,
        pool.state_reason,
    )
    assert {name: text.partition(b"# ---- Pooldeck")[0] for name, text in files_of(own_pgpool).items()} == before
    with pytest.raises(psycopg.OperationalError):
        log_in(own_pgpool)
    assert deployment.apply_pooler(pgpool_pooler).state == RevisionState.APPLIED
    assert (state_of(pool), log_in(own_pgpool)) == ((PoolState.APPLIED, ""), "app")
