"""PgBouncers whose files are their operator's, each watched by the panel, with clients at work."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, PostgresServer, binary, free_port
from pools.clusters import health_check
from pools.inventory import poolers
from pools.models import Cluster, Pooler
from pools.poolers.pgbouncer import preflight
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE, FAST, SUPERUSER_PASSWORD
from tests.live.pools.deployment.take_over.layouts import Layout
from tests.postgresqls import store_light_verifiers

CONSOLE = ("pooldeck", "console-password")
Start = Callable[..., "OperatorsPgBouncer"]


class OperatorsPgBouncer(PgBouncerServer):
    """A PgBouncer of a layout, with its files as its operator wrote them."""

    def __init__(self, home: Path, layout: Layout, program: str | None, words: dict[str, str]) -> None:
        super().__init__(home, free_port(), *CONSOLE, program)
        self.layout, self.words = layout, words
        self.config_dir = home / "files"

    @property
    def main(self) -> Path:
        """The file that it is started with."""
        return self.config_dir / self.layout.main

    @property
    def argv(self) -> list[str]:
        if not self.layout.is_started_inside:
            return [self.binary, str(self.main)]
        return ["/bin/sh", "-c", f"cd {self.config_dir} && exec {self.binary} {self.layout.main}"]

    def prepare(self) -> None:
        account.make_folder(self.home)
        account.make_folder(self.config_dir)
        words = {"@DIR@": str(self.config_dir), "@PORT@": str(self.port), **self.words}
        for name, content in self.layout.files.items():
            path = self.config_dir / name
            for folder in reversed(path.relative_to(self.config_dir).parents[:-1]):
                account.make_folder(self.config_dir / folder)
            content = content if isinstance(content, bytes) else content.encode()
            for word, value in words.items():
                content = content.replace(word.encode(), value.encode())
            path.write_bytes(content)
            path.chmod(0o640)
            if found := account.unprivileged():
                os.chown(path, found.uid, found.gid)

    def bytes_of_all(self) -> dict[str, tuple[bytes, int, int]]:
        """Return name → bytes, mode and owner of every file of its folder, the log and the pid apart."""
        paths = [path for path in self.config_dir.rglob("*") if path.is_file() and path.suffix not in (".log", ".pid")]
        return {
            str(path.relative_to(self.config_dir)): (path.read_bytes(), path.stat().st_mode, path.stat().st_uid)
            for path in paths
        }

    def shown(self) -> dict[str, list[tuple[object, ...]]]:
        """Return what SHOW DATABASES, CONFIG and USERS say, without the counts of connections."""
        found = {}
        with self.connect() as console:
            for word in ("DATABASES", "CONFIG", "USERS"):
                cursor = console.execute(f"SHOW {word}".encode())
                at = [n for n, column in enumerate(cursor.description) if not column.name.startswith("current_")]
                found[word] = sorted((tuple(str(row[n]) for n in at) for row in cursor), key=str)
        return found


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A PostgreSQL that listens on a socket too, and has a role `pooldeck` for look-ups."""
    made = PostgresServer(
        tmp_path_factory.mktemp("postgres"), free_port(), password=SUPERUSER_PASSWORD, settings=dict(FAST)
    )
    account.make_folder(made.home)
    account.make_folder(made.socket_folder)
    made.settings |= {"unix_socket_directories": str(made.socket_folder), "listen_addresses": "127.0.0.1,::1"}
    with made:
        made.create_owner_and_database(APP_ROLE, APP_PASSWORD, APP_DATABASE)
        with made.connect() as session:
            session.execute(b"CREATE ROLE pooldeck SUPERUSER LOGIN PASSWORD 'console-password'")
        passwords = {made.superuser: made.password, APP_ROLE: APP_PASSWORD, CONSOLE[0]: CONSOLE[1]}
        store_light_verifiers(made, passwords)
        yield made


@pytest.fixture
def cluster(db: None, server: PostgresServer) -> Cluster:
    """`server` registered by its address and checked; the panel knows no password of `app`."""
    made = Cluster(
        name="live", host=server.host, port=server.port, admin_user=server.superuser, sslmode="disable", protected=False
    )
    made.admin_password = server.password
    made.save(force_insert=True)
    health_check.check_all([made])
    return made


@pytest.fixture
def program() -> str | None:
    """Which PgBouncer; this system's."""
    return None


@pytest.fixture
def start(
    server: PostgresServer,
    program: str | None,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Start]:
    """Starts the PgBouncer of a layout."""
    if program:
        monkeypatch.setattr(preflight, "SEARCH_PATH", f"{Path(program).parent}:{preflight.SEARCH_PATH}")
    words = {"@PGHOST@": server.host, "@PGPORT@": str(server.port), "@SOCKETS@": str(server.socket_folder)}
    with ExitStack() as started:

        def make(layout: Layout, release: str | None = program) -> OperatorsPgBouncer:
            home = tmp_path_factory.mktemp("own")
            return started.enter_context(OperatorsPgBouncer(home, layout, release, words))

        yield make


@pytest.fixture
def watch(db: None) -> Callable[[OperatorsPgBouncer], Pooler]:
    """Registers a PgBouncer by its console alone."""

    def register(pgbouncer: OperatorsPgBouncer) -> Pooler:
        made = Pooler(name="own", host=pgbouncer.host, port=pgbouncer.port, admin_user=CONSOLE[0])
        made.admin_password = CONSOLE[1]
        made.save(force_insert=True)
        poolers.check(made)
        made.refresh_from_db()
        return made

    return register


class Load:
    """pgbench at work through an entry; `end` says what it lost."""

    def __init__(self, pgbouncer: OperatorsPgBouncer, folder: Path) -> None:
        script, self.log = folder / "load.sql", folder / f"pgbench-{pgbouncer.port}.log"
        script.write_text("SELECT 1;\n")
        environment = {"PATH": os.environ["PATH"], "PGPASSWORD": APP_PASSWORD}
        argv = [
            shutil.which("pgbench") or binary("pgbench"),
            "-n",
            "-f",
            str(script),
            "-c",
            "3",
            "-R",
            "60",
            "-T",
            "600",
        ]
        argv += ["-h", pgbouncer.host, "-p", str(pgbouncer.port), "-U", APP_ROLE, pgbouncer.layout.load]
        with self.log.open("wb") as log:
            self.child = subprocess.Popen(argv, env=environment, stdout=log, stderr=log)
        self.pgbouncer = pgbouncer

    def clients(self) -> set[str]:
        """Return which of its connections PgBouncer has, by their ports."""
        with self.pgbouncer.connect() as console:
            cursor = console.execute(b"SHOW CLIENTS")
            names = [column.name for column in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor]
        return {str(row["port"]) for row in rows if row["application_name"] == "pgbench"}

    def end(self) -> str:
        """End it; return what it wrote, where it had ended before."""
        ended = self.child.poll()
        self.child.kill()
        self.child.wait()
        text = self.log.read_text()
        return text if ended is not None or "abort" in text or "error" in text else ""


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Callable[[OperatorsPgBouncer], Load]]:
    """Sets pgbench to work through a PgBouncer, and ends it."""
    running: list[Load] = []

    def begin(pgbouncer: OperatorsPgBouncer) -> Load:
        running.append(Load(pgbouncer, tmp_path))
        return running[-1]

    yield begin
    for one in running:
        one.child.kill()
        one.child.wait()


def log_in(pgbouncer: PgBouncerServer, name: str, user: str = APP_ROLE, password: str = APP_PASSWORD) -> str:
    """Log in through an entry; return the role that the server sees."""
    address = {"host": pgbouncer.host, "port": pgbouncer.port, "connect_timeout": 5}
    with psycopg.connect(dbname=name, user=user, password=password, autocommit=True, **address) as session:
        row = session.execute(b"SELECT current_user").fetchone()
    return str(row[0]) if row else ""
