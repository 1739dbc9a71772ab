"""What is opened before a load: the processes of a PgBouncer alone; with servers: tests/live/benchmarks/overlays."""

import socket
import threading
import time

import pytest

from benchmarks.runs.observers import probes
from pools.models import Pooler, PoolerKind


def test_another_program_at_the_port_is_no_pgbouncer():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert probes.pooler_processes(Pooler(kind=PoolerKind.PGBOUNCER, host="127.0.0.1", port=port)) == ()


def test_another_kind_of_pooler_is_not_looked_for():
    assert probes.pooler_processes(Pooler(kind=PoolerKind.PGPOOL, host="127.0.0.1", port=1)) == ()


def test_a_search_that_takes_long_holds_no_run_up_and_ends_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    goes_on = threading.Event()
    monkeypatch.setattr(probes, "FOUND_WITHIN_S", 0.1)
    monkeypatch.setattr(probes, "pooler_processes", lambda pooler: (7,) if goes_on.wait(30) else ())
    found = probes.search(Pooler(kind=PoolerKind.PGBOUNCER, host="127.0.0.1", port=1))
    assert list(found) == []
    goes_on.set()
    deadline = time.monotonic() + 30
    while not found:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert list(found) == [7]


def test_a_search_is_over_at_once_where_it_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "pooler_processes", lambda pooler: (7, 8))
    assert list(probes.search(Pooler(kind=PoolerKind.PGBOUNCER, host="127.0.0.1", port=1))) == [7, 8]
