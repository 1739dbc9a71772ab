"""Staged cases on a real Pgpool-II and a real HAProxy, whose further clients wait where nobody counts them."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from psycopg import pq

from panel.quickstart.servers import PostgresServer
from pools import deployment
from pools.diagnosis import diagnosis, shared
from pools.diagnosis.diagnosis import Diagnosis
from pools.inventory import pooler_settings, poolers
from pools.models import Cluster, Pool, Pooler, RevisionState
from tests.callers import of_an_admin
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE
from tests.live.standbys import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("without_trial")]
MOST = 4  # clients at once
UPDATE = "UPDATE staged SET balance = balance + 1"
Session = psycopg.Connection[Any]


@pytest.fixture
def pgpool_children() -> int:
    return MOST


@pytest.fixture
def table(postgres: PostgresServer) -> PostgresServer:
    with postgres.connect(APP_DATABASE) as session:
        session.execute("DROP TABLE IF EXISTS staged")
        session.execute("CREATE TABLE staged AS SELECT 0 AS balance")
        session.execute(f"ALTER TABLE staged OWNER TO {APP_ROLE}")
    return postgres


@pytest.fixture
def behind_pgpool(pgpool_pooler: Pooler, cluster: Cluster) -> Pool:
    return _applied(pgpool_pooler, cluster)


@pytest.fixture
def behind_haproxy(haproxy_pooler: Pooler, cluster: Cluster) -> Pool:
    pooler_settings.change_settings(haproxy_pooler, {"maxconn": str(MOST)})
    return _applied(haproxy_pooler, cluster)


def _applied(pooler: Pooler, cluster: Cluster) -> Pool:
    values = {"name": APP_DATABASE, "database": APP_DATABASE, "user": APP_ROLE, "mode": "session", "size": MOST}
    pool = Pool.objects.create(pooler=pooler, cluster=cluster, **values)
    revision = deployment.apply_pooler(pooler)
    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    poolers.check(pooler)
    return Pool.objects.select_related("pooler", "cluster").get(pk=pool.pk)


class Clients:
    """Clients of a pool's pooler, all that it lets in."""

    def __init__(self, pool: Pool, stack: ExitStack, postgres: PostgresServer) -> None:
        self.pool, self.stack, self.postgres = pool, stack, postgres

    def take_all(self) -> list[Session]:
        return [self._log_in() for _number in range(MOST)]

    def send(self, statement: str) -> None:
        for session in self.take_all():
            session.pgconn.send_query(statement.encode())

    def begin(self) -> None:
        """Leave a transaction open in each."""
        for session in self.take_all():
            session.execute("BEGIN")
            session.execute("SELECT 1")

    def ask_in_vain(self) -> None:
        """Begin the login of one more client, which waits in the kernel's queue."""
        words = f"host={self.pool.pooler.host} port={self.pool.pooler.port} dbname={APP_DATABASE} user={APP_ROLE}"
        further = pq.PGconn.connect_start(words.encode())
        self.stack.callback(further.finish)

    def hold_the_lock(self) -> None:
        holder = self.stack.enter_context(self.postgres.connect(APP_DATABASE))
        holder.execute("BEGIN")
        holder.execute(UPDATE)

    def wait_for(self, state: str, event: str = "%") -> None:
        """Wait until all have been in a state for more than a second, by the server's clock."""
        query = """
            SELECT count(*) FROM pg_stat_activity
             WHERE usename = %s AND state = %s AND coalesce(wait_event_type, '') LIKE %s
               AND clock_timestamp() - state_change > interval '1.1 s'
        """
        with self.postgres.connect() as session:
            until(lambda: session.execute(query, (APP_ROLE, state, event)).fetchone()[0] >= MOST, 30)

    def _log_in(self) -> Session:
        address = {"host": self.pool.pooler.host, "port": self.pool.pooler.port, "connect_timeout": 10}
        login = {"dbname": APP_DATABASE, "user": APP_ROLE, "password": APP_PASSWORD, "application_name": "shop"}
        session = psycopg.connect(autocommit=True, prepare_threshold=None, **address, **login)
        self.stack.callback(session.close)
        return session


def _stage(clients: Clients, cause: str) -> None:
    if cause == "lock":
        clients.hold_the_lock()
        clients.send(UPDATE)
        clients.wait_for("active", "Lock")
    elif cause == "idle_in_transaction":
        clients.begin()
        clients.wait_for("idle in transaction")
    elif cause == "slow_statement":
        clients.send("SELECT pg_sleep(60)")
        clients.wait_for("active")
    else:
        clients.take_all()
        clients.wait_for("idle")
    clients.ask_in_vain()


CAUSES = ("lock", "idle_in_transaction", "slow_statement", "pool_size")
IN_FULL = {
    "pgpool": f"num_init_children is reached: {MOST} clients are connected of {MOST}, and further ones wait until one "
    "leaves.",
    "haproxy": f"maxconn is reached: {MOST} clients are connected of {MOST}, and further ones wait until one leaves.",
}


def _judge(found: Diagnosis, cause: str, kind: str) -> None:
    print(found.finding, found.also, found.notes, found.queue, sep="\n")
    assert found.cause == cause
    assert [finding.sentence for name, finding in found.also if name == "client_limit"] == [IN_FULL[kind]]


def _staged(pool: Pool, postgres: PostgresServer) -> Iterator[tuple[str, Diagnosis]]:
    """Stage one cause after the other, each with clients of its own; yield it with what is found."""
    for cause in CAUSES:
        with ExitStack() as stack:
            stack.callback(_end_sessions, postgres)
            _stage(Clients(pool, stack, postgres), cause)
            yield cause, diagnosis.of(pool)


def _end_sessions(postgres: PostgresServer) -> None:
    """End what clients that left had sent, and wait until it is gone: PostgreSQL does not see that they left."""
    query = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = %s"
    with postgres.connect() as session:
        until(lambda: session.execute(query, (APP_ROLE,)).fetchone()[0] == 0, 30)


def test_the_cause_is_named_while_a_pgpool_has_no_child_left(behind_pgpool: Pool, table: PostgresServer) -> None:
    for cause, found in _staged(behind_pgpool, table):
        _judge(found, cause, "pgpool")
        assert len([holder for holder in found.holders if holder.server.is_busy and holder.session]) == MOST


def test_the_cause_is_named_while_a_haproxy_lets_nobody_in(behind_haproxy: Pool, table: PostgresServer) -> None:
    for cause, found in _staged(behind_haproxy, table):
        _judge(found, cause, "haproxy")


def test_the_page_of_a_pooler_shows_a_pool_only_while_clients_may_wait(
    behind_haproxy: Pool, table: PostgresServer
) -> None:
    pooler = behind_haproxy.pooler
    assert shared.of_pooler(of_an_admin(), pooler) == []
    with ExitStack() as stack:
        stack.callback(_end_sessions, table)
        _stage(Clients(behind_haproxy, stack, table), "slow_statement")
        shared._slots.clear()  # a diagnosis is kept for two seconds
        assert [found.cause for _target, found in shared.of_pooler(of_an_admin(), pooler)] == ["slow_statement"]
