"""A pool that works, put into PgBouncer's files by hand; a Redis of this process; a load."""

import subprocess
from collections.abc import Callable, Iterator

import pytest
from pytest_django import Settings

from core.lib import redis_client
from panel.quickstart.servers import PgBouncerServer, PostgresServer, RedisServer
from pools.models import Cluster, Pool, Pooler, PoolState
from pools.monitoring import redis_store, sampler
from pools.poolers.console_sample import PoolFigures
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE

Load = Callable[..., "subprocess.Popen[bytes]"]
POOL_SIZE = 2


@pytest.fixture
def shared_redis(redis_server: RedisServer, settings: Settings) -> Iterator[RedisServer]:
    """This process shares its looks through `redis_server`, which starts empty."""
    settings.REDIS_URL = redis_server.url
    redis_client.reset_shared()
    redis_store._breaker.reset()
    sampler._cache.clear()
    redis_client.shared().flushall()
    yield redis_server
    redis_client.shared().close()
    redis_client.reset_shared()


@pytest.fixture
def pool(cluster: Cluster, pooler: Pooler, pgbouncer: PgBouncerServer, postgres: PostgresServer) -> Pool:
    """The pool `web` of two connections, live."""
    ini, userlist = pgbouncer.config_dir / "pgbouncer.ini", pgbouncer.config_dir / "userlist.txt"
    entry = f"web = host={postgres.host} port={postgres.port} dbname={APP_DATABASE} user={APP_ROLE}"
    entry += f" password={APP_PASSWORD} pool_size={POOL_SIZE}"
    ini.write_text(ini.read_text().replace("[databases]", f"[databases]\n{entry}"))
    userlist.write_text(userlist.read_text() + f'"{APP_ROLE}" "{APP_PASSWORD}"\n')
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")
    values = {"database": APP_DATABASE, "user": APP_ROLE, "size": POOL_SIZE, "state": PoolState.APPLIED}
    return Pool.objects.create(name="web", pooler=pooler, cluster=cluster, **values)


@pytest.fixture
def load(pooler: Pooler, tmp_path: object) -> Iterator[Load]:
    """Starts pgbench through the pool `web`; it is ended with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(script: str = "SELECT 1;", clients: int = 4, seconds: int = 5) -> "subprocess.Popen[bytes]":
        words = ["pgbench", "-n", "-c", str(clients), "-T", str(seconds), "-f", "/dev/stdin"]
        where = ["-h", pooler.host, "-p", str(pooler.port), "-U", APP_ROLE, "web"]
        environment = {"PATH": "/usr/bin:/bin:/usr/lib/postgresql/15/bin", "PGPASSWORD": APP_PASSWORD}
        process = subprocess.Popen(
            [*words, *where], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
        )
        assert process.stdin
        process.stdin.write(script.encode())
        process.stdin.close()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stderr
        process.stderr.close()


def waiting_at(pool: Pool) -> int | None:
    """How many clients wait for a connection of the pool, by the last look."""
    return sampler.latest(pool.pooler).figures.get(pool.name, PoolFigures()).cl_waiting
