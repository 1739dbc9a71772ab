"""A PgBouncer of each release at hand, with pools in its files, and clients of theirs."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from panel.quickstart.servers import PgBouncerServer, PostgresServer, free_port
from pools.console import show_cache
from pools.models import Cluster, Pool, Pooler, PoolerState, PoolState
from pools.monitoring import sampler
from pools.poolers.pgbouncer import console
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE, TestPgBouncer

NAMES = ("orders", "Or-ders.2", "other")
SIZE = 2
Client = Callable[..., "psycopg.Connection[tuple[Any, ...]]"]


@pytest.fixture(params=["installed", "newer"])
def pgbouncer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> Iterator[PgBouncerServer]:
    """A PgBouncer that has the pools `NAMES`, two connections each."""
    program = str(request.getfixturevalue("trixie_pgbouncer")) if request.param == "newer" else None
    home = tmp_path_factory.mktemp("pgbouncer")
    server = TestPgBouncer(home, free_port(), "pooldeck", "console-password", program)
    server.prepare()
    ini, userlist = server.config_dir / "pgbouncer.ini", server.config_dir / "userlist.txt"
    leads_to = f"host={postgres.host} port={postgres.port} dbname={APP_DATABASE} user={APP_ROLE} pool_size={SIZE}"
    entries = "".join(f"{name} = {leads_to} password={APP_PASSWORD}\n" for name in NAMES)
    ini.write_text(ini.read_text().replace("[databases]\n", f"[databases]\n{entries}"))
    userlist.write_text(userlist.read_text() + f'"{APP_ROLE}" "{APP_PASSWORD}"\n')
    with server:
        yield server


@pytest.fixture
def pooler(pooler: Pooler) -> Pooler:
    """`pgbouncer`, as a check found it."""
    sampler._cache.clear(), show_cache._answers.clear()
    pooler.mark(PoolerState.ONLINE, str(console.show(pooler, "version")[0]["version"]))
    return pooler


@pytest.fixture
def pool(cluster: Cluster, pooler: Pooler) -> Callable[[str], Pool]:
    """Registers one of `NAMES`."""

    def registered(name: str = "orders") -> Pool:
        values = {"database": APP_DATABASE, "user": APP_ROLE, "size": SIZE, "state": PoolState.APPLIED}
        return Pool.objects.create(name=name, pooler=pooler, cluster=cluster, **values)

    return registered


@pytest.fixture
def client(pooler: Pooler) -> Iterator[Client]:
    """Logs clients in through a pool; they leave with the test."""
    with ExitStack() as stack:

        def log_in(pool: str = "orders", name: str = "shop", autocommit: bool = True) -> Any:
            address = {"host": pooler.host, "port": pooler.port, "user": APP_ROLE, "password": APP_PASSWORD}
            one = psycopg.connect(
                dbname=pool, application_name=name, autocommit=autocommit, connect_timeout=5, **address
            )
            one.prepare_threshold = None
            stack.callback(one.close)
            return one

        yield log_in
