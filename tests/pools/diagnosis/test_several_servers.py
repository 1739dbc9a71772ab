"""A pooler that leads to several servers: one of them is asked, and only for what is its own."""

from dataclasses import replace

import pytest

from pools.diagnosis import diagnosis
from pools.diagnosis import sessions as server_sessions
from pools.diagnosis.diagnosis import Diagnosis
from pools.diagnosis.sessions import ServerSessions, Session
from pools.models import Pool
from pools.poolers import KINDS
from pools.poolers.pool_queue import Limit, PoolQueue, ServerConnection
from tests.pools.diagnosis.test_causes import ALL_TAKEN, HOLDER, KEPT, LEFT_OPEN, LOCKED, SLOW
from tests.pools.records import a_cluster, a_pool, a_pooler, checked

pytestmark = pytest.mark.django_db
PRIMARY, STANDBY = ("db-1", 5432), ("db-2", 5432)


def connection(pid: int, server: tuple[str, int] | None = PRIMARY, **fields: object) -> ServerConnection:
    return ServerConnection("orders", "app", "active", pid, 0, server=server, **fields)  # type: ignore[arg-type]


@pytest.fixture
def pool() -> Pool:
    cluster = a_cluster(host="db-1", port=5432)
    checked(cluster, ip_address="10.0.0.5")
    return a_pool(name="orders", database="app", cluster=cluster, pooler=a_pooler(host="10.0.0.9"))


def diagnosed(
    monkeypatch: pytest.MonkeyPatch,
    pool: Pool,
    servers: list[ServerConnection],
    sessions: list[Session],
    limit: Limit = ALL_TAKEN,
    asked: list[int] | None = None,
) -> Diagnosis:
    queue = PoolQueue("orders", 0, servers=tuple(servers), client_limits=(limit,), counts_waiting=False)

    def read(_place: object, pids: list[int], _database: str, *, whole: bool) -> ServerSessions:
        if asked is not None:
            asked.extend(pids)
        return ServerSessions({one.pid: one for one in sessions}, connections=20, most=97)

    monkeypatch.setitem(vars(KINDS[pool.pooler.kind]), "queue", lambda _pooler, _name: queue)
    monkeypatch.setattr(server_sessions, "read", read)
    return diagnosis.of(pool)


def test_the_server_is_asked_for_its_own_processes_and_the_notes_tell_of_the_others(
    monkeypatch: pytest.MonkeyPatch, pool: Pool
) -> None:
    asked: list[int] = []
    servers = [connection(1), connection(2, ("10.0.0.5", 5432)), connection(3, STANDBY), connection(4, ("", 0))]
    found = diagnosed(monkeypatch, pool, servers, [replace(SLOW, pid=pid) for pid in (1, 2, 3, 4)], asked=asked)
    assert asked == [1, 2]
    assert {one.server.pid: one.session is not None for one in found.holders} == {1: True, 2: True, 3: False, 4: False}
    note = (
        "2 connections of the pool lead to other servers than the one that was asked (db-2:5432): what runs there is "
        "not known."
    )
    assert (found.notes, found.server_notes) == ((note,), (note,))


@pytest.mark.parametrize("session", [KEPT, LEFT_OPEN])
def test_clients_whose_reads_may_run_on_a_standby_are_not_told_to_do_nothing(
    monkeypatch: pytest.MonkeyPatch, pool: Pool, session: Session
) -> None:
    servers = [connection(pid, is_one_of_several=True) for pid in range(1, 5)]
    servers += [connection(pid + 50, STANDBY, is_one_of_several=True) for pid in range(1, 5)]
    found = diagnosed(monkeypatch, pool, servers, [replace(session, pid=pid) for pid in range(1, 5)])
    assert (found.cause, found.finding.pids) == ("client_limit", ())
    found = diagnosed(monkeypatch, pool, servers, [replace(SLOW, pid=pid) for pid in range(1, 5)])
    assert found.cause == "slow_statement"


@pytest.mark.parametrize("other", [{"database": "payroll"}, {"role": "batch"}])
def test_a_session_of_another_database_or_role_is_no_connection_of_the_pool_whatever_its_pid(
    monkeypatch: pytest.MonkeyPatch, pool: Pool, other: dict[str, str]
) -> None:
    limit = replace(ALL_TAKEN, most=1, used=1)
    own, strange = replace(KEPT, pid=1), replace(KEPT, pid=1, **other)  # type: ignore[arg-type]
    found = diagnosed(monkeypatch, pool, [connection(1, None)], [own], limit)
    assert (found.cause, found.to_end) == ("pool_size", [own])
    found = diagnosed(monkeypatch, pool, [connection(1, None)], [strange], limit)
    assert (found.cause, found.to_end, found.holders[0].session) == ("client_limit", [], None)


def test_a_pooler_of_the_same_host_names_its_server_by_loopback(monkeypatch: pytest.MonkeyPatch, pool: Pool) -> None:
    pool.pooler.host = "db-1"
    found = diagnosed(monkeypatch, pool, [connection(1, ("localhost", 5432))], [replace(SLOW, pid=1)])
    assert (found.holders[0].session is not None, found.notes) == (True, ())


def test_the_tree_names_the_pool_of_no_process_of_another_server(monkeypatch: pytest.MonkeyPatch, pool: Pool) -> None:
    servers, limit = [connection(1), connection(HOLDER.pid, STANDBY)], replace(ALL_TAKEN, most=1, used=1)
    found = diagnosed(monkeypatch, pool, servers, [replace(LOCKED, pid=1), HOLDER], limit)
    assert [(branch.pid, branch.pool) for branch in found.tree] == [(HOLDER.pid, ""), (1, "orders")]
    assert found.cause == "lock"
