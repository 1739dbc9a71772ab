"""A pooler that waits for its clients before it ends, as checks and applies show it: not as one that is merely down."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PgBouncerServer, Program, free_port
from pools import deployment
from pools.inventory import poolers
from pools.models import Cluster, Pool, Pooler, PoolerState
from pools.poolers import smart_shutdown
from tests.live.conftest import TestPgBouncer
from tests.live.haproxies import HAProxyServer
from tests.live.pools.conftest import TRIXIE
from tests.live.standbys import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def seen_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of any age may be shutting down."""
    monkeypatch.setattr(smart_shutdown, "STARTS_WITHIN_S", 0)


@pytest.fixture
def pgbouncer(trixie_pgbouncer: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PgBouncerServer]:
    """Debian 13's, by a loader that has the program's name, as a process on a host of its own has."""
    home = tmp_path_factory.mktemp("pgbouncer")
    loader = trixie_pgbouncer.parent / "pgbouncer-by-name"
    shutil.copy(next(Path(TRIXIE, "usr/lib64").glob("ld-linux*")), loader)
    program = trixie_pgbouncer.parent / "pgbouncer-named"
    libraries = next(Path(TRIXIE, "usr/lib").glob("*-linux-gnu"))
    program.write_text(f'#!/bin/sh\nexec {loader} --library-path {libraries} {TRIXIE}/usr/sbin/pgbouncer "$@"\n')
    program.chmod(0o755)
    with TestPgBouncer(home, free_port(), "pooldeck", "console-password", str(program)) as server:
        yield server


def test_a_pgbouncer_that_waits_for_its_clients(pgbouncer: PgBouncerServer, pooler: Pooler, cluster: Cluster) -> None:
    pool = Pool.objects.create(name="app", pooler=pooler, cluster=cluster, database="app", user="app", size=2)
    deployment.apply_pooler(pooler)
    with _client(pooler, "app"):
        pgbouncer.kill(signal.SIGTERM)
        assert _found_shutting_down(pooler, pgbouncer) == _sentence(pooler, pgbouncer, "SIGQUIT")
        pool.edit(None, size=3, state="pending")
        deployment.apply_pooler(pooler)
        pool.refresh_from_db()
        assert pool.state_reason == _sentence(pooler, pgbouncer, "SIGQUIT")
    until(lambda: pgbouncer.has_ended)
    assert "connection refused" in _reason(pooler).lower()


@pytest.mark.parametrize("pgpool_binary", ["installed"], indirect=True)
def test_a_pgpool_that_waits_for_its_clients(own_pgpool: PgpoolServer, pgpool_pooler: Pooler) -> None:
    words = {"user": own_pgpool.backend.superuser, "password": own_pgpool.backend.password}
    with _client(pgpool_pooler, "postgres", **words):
        own_pgpool.kill(signal.SIGTERM)
        wanted = _sentence(pgpool_pooler, own_pgpool, "pgpool -m fast stop")
        assert _found_shutting_down(pgpool_pooler, own_pgpool) == wanted


def test_an_haproxy_in_a_soft_stop(haproxy: HAProxyServer, haproxy_pooler: Pooler, cluster: Cluster) -> None:
    values = {"database": "app", "user": "app", "mode": "session", "size": 100}
    Pool.objects.create(name="app", pooler=haproxy_pooler, cluster=cluster, **values)
    deployment.apply_pooler(haproxy_pooler)
    with _client(haproxy_pooler, "app"):
        haproxy.kill(signal.SIGUSR1)
        reason = _found_shutting_down(haproxy_pooler, haproxy)
    assert "is shutting down: its process" in reason
    assert "with SIGTERM, then start it again" in reason


def test_one_that_moved_to_another_port_is_not_shutting_down(pgbouncer: PgBouncerServer, pooler: Pooler) -> None:
    pooler.port = free_port()
    assert smart_shutdown.explain(pooler) == ""


def _client(pooler: Pooler, database: str, user: str = "app", password: str = "app-password") -> Any:
    address = {"host": pooler.host, "port": pooler.port, "connect_timeout": 5}
    session = psycopg.connect(dbname=database, user=user, password=password, autocommit=True, **address)
    session.execute("SELECT 1")
    return session


def _found_shutting_down(pooler: Pooler, server: Program) -> str:
    until(lambda: "shutting down" in _reason(pooler))
    assert server.is_running
    assert Pooler.objects.get(pk=pooler.pk).state == PoolerState.UNREACHABLE
    return _reason(pooler)


def _reason(pooler: Pooler) -> str:
    pooler.refresh_from_db()
    return poolers.check(pooler)


def _sentence(pooler: Pooler, server: Program, way: str) -> str:
    assert server.process
    return (
        f"pooler {pooler} is shutting down: its process {server.process.pid} takes no new clients and ends when those "
        f"that it has are gone; disconnect them, or end it at once with {way}, then start it again"
    )
