"""PgBouncers of each release at hand, with a pool for each staged case, and clients that wait in them."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Event, Semaphore, Thread
from typing import Any

import psycopg
import pytest
from psycopg import pq

from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, PostgresServer, free_port
from pools.models import Cluster, Pool, Pooler, PoolerKind, PoolState
from pools.monitoring import sampler
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE, TestPgBouncer

SIZE = 2
RELEASES = ("installed", pytest.param("trixie", marks=pytest.mark.slow), "sid")
WAITING_S = 10
UNRESOLVED = "db.nowhere.invalid"
NO_RESOLVER = "127.53.0.1"  # no name server listens there, and loopback keeps the question on this host
END_STATEMENTS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s AND state = 'active'"
Session = psycopg.Connection[Any]
# name of a pool → what its entry has beside the usual
ENTRIES = {
    "locked": "",
    "other": "",
    "idle": "",
    "slow": "",
    "small": "",
    "kept": "pool_mode=session",
    "capped": "pool_size=9 max_db_connections=2",
    "streaming": "pool_size=12",
    "clients": "",
    "dead": "",
    "wrong": "",
    "limited": "",
    "closed": "",
    "nameless": "",
}


@pytest.fixture(scope="module", params=RELEASES)
def bouncer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> Iterator[PgBouncerServer]:
    """A PgBouncer of each release that has the pools `ENTRIES`, two connections each."""
    fixtures = {"installed": None, "trixie": "trixie_pgbouncer", "sid": "sid_pgbouncer"}
    program = str(request.getfixturevalue(name)) if (name := fixtures[request.param]) else None
    home = tmp_path_factory.mktemp("pgbouncer")
    server = TestPgBouncer(home, free_port(), "pooldeck", "console-password", program)
    account.make_folder(home / "log")
    log, resolver = home / "log" / "pgbouncer.log", home / "resolv.conf"
    server.own_settings = {"auth_type": "trust", "resolv_conf": resolver, "default_pool_size": SIZE, "logfile": log}
    server.prepare()
    (home / "resolv.conf").write_text(f"nameserver {NO_RESOLVER}\n")
    (home / "resolv.conf").chmod(0o644)
    ini, userlist = server.config_dir / "pgbouncer.ini", server.config_dir / "userlist.txt"
    entries = "".join(f"{line}\n" for line in _lines(postgres, dead_port=free_port()))
    ini.write_text(ini.read_text().replace("[databases]\n", f"[databases]\n{entries}"))
    userlist.write_text(userlist.read_text() + f'"{APP_ROLE}" "{APP_PASSWORD}"\n')
    with server:
        yield server


def _lines(postgres: PostgresServer, dead_port: int) -> Iterator[str]:
    for name, more in ENTRIES.items():
        host = UNRESOLVED if name == "nameless" else postgres.host
        port = dead_port if name == "dead" else postgres.port
        user = f"diagnosis_{name}" if name in ("wrong", "limited") else APP_ROLE
        database = "diagnosis_closed" if name == "closed" else APP_DATABASE
        yield f"{name} = host={host} port={port} dbname={database} user={user} password={APP_PASSWORD} {more}"


@pytest.fixture(scope="module")
def prepared(postgres: PostgresServer) -> PostgresServer:
    """`postgres` with a table, roles that it refuses, and a database that takes no connections."""
    with postgres.connect() as session:
        session.execute("DROP DATABASE IF EXISTS diagnosis_closed")
        session.execute("DROP ROLE IF EXISTS diagnosis_wrong, diagnosis_limited")
        session.execute("CREATE ROLE diagnosis_wrong LOGIN PASSWORD 'another-password'")
        session.execute(f"CREATE ROLE diagnosis_limited LOGIN CONNECTION LIMIT 0 PASSWORD '{APP_PASSWORD}'")
        session.execute("CREATE DATABASE diagnosis_closed ALLOW_CONNECTIONS false")
    with postgres.connect(APP_DATABASE) as session:
        session.execute("DROP TABLE IF EXISTS accounts")
        session.execute("CREATE TABLE accounts AS SELECT id, 0 AS balance FROM generate_series(1, 10) id")
        session.execute(f"ALTER TABLE accounts OWNER TO {APP_ROLE}")
    return postgres


@pytest.fixture
def bouncer_pooler(db: None, bouncer: PgBouncerServer) -> Pooler:
    """`bouncer` registered."""
    sampler._cache.clear()
    made = Pooler(name="diagnosed", kind=PoolerKind.PGBOUNCER, host=bouncer.host, port=bouncer.port)
    made.admin_user, made.config_dir = bouncer.admin_user, str(bouncer.config_dir)
    made.admin_password = bouncer.admin_password
    made.save(force_insert=True)
    return made


@pytest.fixture
def registered(bouncer_pooler: Pooler, cluster: Cluster, prepared: PostgresServer) -> Callable[[str], Pool]:
    """Registers a pool of `ENTRIES`; the panel knows the password that its pooler logs in with."""

    def register(name: str) -> Pool:
        user = f"diagnosis_{name}" if name in ("wrong", "limited") else APP_ROLE
        if user != APP_ROLE:
            cluster.keep_password(user, APP_PASSWORD)
        database = "diagnosis_closed" if name == "closed" else APP_DATABASE
        leads_to = cluster
        if name == "dead":
            leads_to = Cluster.objects.create(
                name="dead", host=cluster.host, port=1, admin_user=cluster.admin_user, sslmode="disable"
            )
        values = {"database": database, "user": user, "size": SIZE, "state": PoolState.APPLIED}
        return Pool.objects.create(name=name, pooler=bouncer_pooler, cluster=leads_to, **values)

    return register


def _is_sent(connection: pq.abc.PGconn) -> bool:
    """Go on with a login; return whether it was sent, so that the pooler answers next."""
    connection.connect_poll()
    assert connection.status != pq.ConnStatus.BAD, connection.error_message
    return connection.status == pq.ConnStatus.AWAITING_RESPONSE


@dataclass
class Clients:
    """Clients of a PgBouncer, which all leave with the test."""

    bouncer: PgBouncerServer
    stack: ExitStack

    def connect(self, pool: str, application: str = "shop") -> Session:
        """Log a client in; its first statement opens the transaction."""
        address = {"host": self.bouncer.host, "port": self.bouncer.port, "user": APP_ROLE, "connect_timeout": 10}
        session = psycopg.connect(dbname=pool, application_name=application, **address)
        session.prepare_threshold = None
        self.stack.callback(session.close)
        return session

    def connect_until_refused(self, pool: str) -> None:
        """Log clients in until the pooler refuses one."""
        while True:
            try:
                self.connect(pool)
            except psycopg.OperationalError:
                return

    def sending(self, pool: str, statement: str, count: int = 1, application: str = "shop") -> list[Session]:
        """Log clients in that send a statement and don't wait for its end."""
        sessions = [self.connect(pool, application) for _number in range(count)]
        for session in sessions:
            session.pgconn.send_query(statement.encode())
        return sessions

    def logging_in(self, pool: str, count: int = 3) -> None:
        """Send the logins of clients, which don't end where the pooler has no server."""
        address = f"host={self.bouncer.host} port={self.bouncer.port} user={APP_ROLE} sslmode=disable"
        for _number in range(count):
            connection = pq.PGconn.connect_start(f"{address} dbname={pool} application_name=shop".encode())
            self.stack.callback(connection.finish)
            self.wait_for(partial(_is_sent, connection))

    def repeating(self, pool: str, statement: str, count: int) -> None:
        """Let clients in threads repeat a statement until the test ends; each has had its turn once by now."""
        ended, served = Event(), Semaphore(0)
        threads = [Thread(target=self._repeat, args=(pool, statement, ended, served)) for _number in range(count)]
        for thread in threads:
            thread.start()
            self.stack.callback(thread.join)
        self.stack.callback(ended.set)
        for _number in range(count):
            assert served.acquire(timeout=WAITING_S)

    def _repeat(self, pool: str, statement: str, ended: Event, served: Semaphore) -> None:
        address = {"host": self.bouncer.host, "port": self.bouncer.port, "user": APP_ROLE, "connect_timeout": 10}
        with psycopg.connect(dbname=pool, autocommit=True, application_name="shop", **address) as session:
            session.execute(statement, prepare=False)
            served.release()
            while not ended.is_set():
                session.execute(statement, prepare=False)

    def waiting(self, pool: str) -> int:
        """Count the clients that wait for a connection of the pool."""
        with self.bouncer.connect() as console:
            cursor = console.execute("SHOW POOLS")
            names = [column.name for column in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor]
        return sum(row["cl_waiting"] for row in rows if row["database"] == pool)

    def wait_for(self, holds: Callable[[], object], seconds: float = WAITING_S) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, "it did not come about"
            time.sleep(0.02)

    @contextmanager
    def set(self, setting: str, value: int) -> Iterator[None]:
        """Change a setting of the PgBouncer for a while."""
        with self.bouncer.connect() as console:
            before = {row[0]: row[1] for row in console.execute("SHOW CONFIG")}[setting]
            console.execute(f"SET {setting} = {value}")
            yield
            console.execute(f"SET {setting} = {before}")


@pytest.fixture
def clients(bouncer: PgBouncerServer, postgres: PostgresServer) -> Iterator[Clients]:
    """Clients of `bouncer`, whose statements end with them: PostgreSQL would work on until it answers."""
    with ExitStack() as stack:
        yield Clients(bouncer, stack)
    with postgres.connect() as session:
        session.execute(END_STATEMENTS, [APP_ROLE])
