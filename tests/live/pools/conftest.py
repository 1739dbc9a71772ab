"""Pools on the live pooler, and what clients and the console see of them."""

import os
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from core.lib.private_text import for_admins
from panel.quickstart.servers import PgBouncerServer
from pools import deployment
from pools.models import Cluster, Pool, Pooler, PoolState

MakePool = Callable[..., Pool]
LogIn = Callable[..., str]
Live = Callable[[], dict[str, tuple[object, ...]]]
ConfigBytes = Callable[[], dict[str, bytes]]
TRIXIE = os.environ.get("POOLDECK_TEST_TRIXIE", "")
SID = os.environ.get("POOLDECK_TEST_SID", "")


@pytest.fixture(scope="session")
def trixie_pgbouncer() -> Path:
    """A program that starts Debian 13's PgBouncer out of the debootstrap folder POOLDECK_TEST_TRIXIE."""
    if not (TRIXIE and Path(TRIXIE, "usr/sbin/pgbouncer").exists()):
        pytest.skip("POOLDECK_TEST_TRIXIE names no folder of a Debian 13 with pgbouncer (debootstrap trixie)")
    return in_folder(TRIXIE)


@pytest.fixture(scope="session")
def sid_pgbouncer() -> Path:
    """A program that starts Debian unstable's PgBouncer out of the debootstrap folder POOLDECK_TEST_SID."""
    if not SID or not Path(SID, "usr/sbin/pgbouncer").exists():
        pytest.skip("POOLDECK_TEST_SID names no folder of a Debian unstable with pgbouncer (debootstrap sid)")
    return in_folder(SID)


def in_folder(debian: str) -> Path:
    """A program that starts the PgBouncer of a Debian in a debootstrap folder."""
    loader = next(Path(debian, "usr/lib64").glob("ld-linux*"))
    libraries = next(Path(debian, "usr/lib").glob("*-linux-gnu"))
    folder = Path(debian, "tmp", "pooldeck-tests")  # Every account may start a program in this folder.
    folder.mkdir(mode=0o755, exist_ok=True)
    program = folder / "pgbouncer"
    program.write_text(f'#!/bin/sh\nexec {loader} --library-path {libraries} {debian}/usr/sbin/pgbouncer "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture
def make_pool(cluster: Cluster, pooler: Pooler) -> MakePool:
    """Saves a pending pool on `pooler` to `cluster`; not applied yet."""

    def make(name: str = "orders", **fields: object) -> Pool:
        values = {"pooler": pooler, "cluster": cluster, "database": "app", "user": "app", "size": 3} | fields
        return Pool.objects.create(name=name, **values)

    return make


@pytest.fixture
def log_in(pooler: Pooler) -> LogIn:
    """Logs in through the pooler as a client; the role it ends up as."""

    def as_client(pool: str, user: str = "app", password: str = "app-password") -> str:
        address = {"host": pooler.host, "port": pooler.port, "connect_timeout": 5}
        with psycopg.connect(dbname=pool, user=user, password=password, autocommit=True, **address) as session:
            return session.execute(b"SELECT current_user").fetchone()[0]

    return as_client


@pytest.fixture
def orders(make_pool: MakePool, pooler: Pooler) -> Pool:
    """An applied pool of the fixed user `app`."""
    pool = make_pool()
    deployment.apply_pooler(pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    return pool


def state_of(pool: Pool) -> tuple[str, str]:
    """Its state and the reason, as they stand in its record now."""
    pool.refresh_from_db()
    return pool.state, for_admins(pool.state_reason)


@pytest.fixture
def live(pgbouncer: PgBouncerServer) -> Live:
    """Reads name → (database, forced user, size, mode, most connections) out of SHOW DATABASES."""
    columns = ("database", "force_user", "pool_size", "pool_mode", "max_connections")

    def read() -> dict[str, tuple[object, ...]]:
        with pgbouncer.connect() as console:
            cursor = console.execute(b"SHOW DATABASES")
            names = [column.name for column in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor]
        return {row["name"]: tuple(row[column] for column in columns) for row in rows if row["name"] != "pgbouncer"}

    return read


@pytest.fixture
def config_bytes(pgbouncer: PgBouncerServer) -> ConfigBytes:
    """Reads every file of the configuration folder."""

    def read() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in Path(pgbouncer.config_dir).iterdir()}

    return read
