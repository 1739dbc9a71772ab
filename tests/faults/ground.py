"""An installation with its metadata in PostgreSQL, disks of its own that can get full, and proxies on the way."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any, Self

import psycopg

from panel.quickstart.ports import free_port
from panel.quickstart.servers import PostgresServer, RedisServer, Server
from tests.faults.cells import Cell
from tests.faults.proxy import Proxy
from tests.installation import Api, Installation, Refused
from tests.programs import below, heads

# Megabytes of each disk; "home" holds logs, keys and everything of the panel but its database. That of PostgreSQL has
# room for two million rows and for the WAL of some preparations without a checkpoint, since it is killed before.
DISKS = {"home": 300, "home/postgres": 3000, "home/pgbouncer": 8, "home/pgpool": 16, "metadata": 300}
DISKS |= {"home/redis": 60, "redis": 60}
LOOPBACK, LED_WITHIN_S = "127.0.0.1", 60.0
DISK_OF = {name: f"home/{name}" for name in ("postgres", "redis", "pgbouncer", "pgpool")}
DATABASE = "pooldeck"
DATABASES = {"demo": "app", "behind": "behind"}  # of the loads, by cluster


class OwnInstallation(Installation):
    """`script/up` whose metadata database is a server that the test can stop."""

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        variables = (f"{name}={value}" for name, value in environment.items())
        super().__init__(home, "--port", str(free_port()), program=("env", *variables, *UP))


UP = (str(Path(__file__).resolve().parents[2] / "script" / "up"),)


class Ground:
    """Everything that faults strike, as a context manager; mounts disks in `folder` where it may (as root).

    With `has_proxies` a proxy stands before web, the metadata database and Redis too, which then is one of the test's.
    """

    def __init__(self, folder: Path, *, has_disks: bool = True, has_proxies: bool = False) -> None:
        self.has_disks, self.has_proxies = has_disks, has_proxies
        self.folder, self.home = folder, folder / "home"
        self.own: dict[str, Server] = {}  # not started by `script/up`
        self.proxies: dict[str, Proxy] = {}
        self.metadata = PostgresServer(folder / "metadata", free_port(), password="metadata")
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with self._stack as stack:
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self, stack: ExitStack) -> None:
        for name, megabytes in DISKS.items() if self.has_disks else ():
            _mount(stack, self.folder / name, megabytes)
        self.own["metadata"] = stack.enter_context(self.metadata)
        self.metadata.create_owner_and_database(DATABASE, "panel", DATABASE)
        environment = self._with_proxies(stack) if self.has_proxies else {"DATABASE_URL": _url(self.metadata.port)}
        self.installation = stack.enter_context(OwnInstallation(self.home, environment))
        self.api = self.api_by_proxy = self.installation.api
        self.kept = json.loads((self.home / "installation.json").read_text())
        self.ports: dict[str, int] = self.kept["ports"]
        for name in ("postgres", "pgbouncer", "pgpool"):
            self.proxies[name] = stack.enter_context(Proxy(self.ports[name]))
        if self.has_proxies:
            web = stack.enter_context(Proxy(int(self.api.url.rpartition(":")[2])))
            self.proxies["web"], self.api_by_proxy = web, Api(f"http://{LOOPBACK}:{web.port}", self.api.token)
        self._add_pools()

    def _with_proxies(self, stack: ExitStack) -> dict[str, str]:
        """Start a Redis, put proxies before it and the metadata database, and return what leads through them."""
        redis = RedisServer(self.folder / "redis", free_port(), "redis")
        self.own["redis"] = stack.enter_context(redis)
        self.proxies |= {name: stack.enter_context(Proxy(one.port)) for name, one in self.own.items()}
        url_of_redis = f"redis://:{redis.password}@{LOOPBACK}:{self.proxies['redis'].port}/0"
        return {"DATABASE_URL": _url(self.proxies["metadata"].port), "REDIS_URL": url_of_redis}

    def _add_pools(self) -> None:
        """Add a cluster, which is the demo's server behind a proxy, and a pool of each kind."""
        (demo,) = self.api.get("clusters/")["results"]
        passwords = self.kept["passwords"]
        at_proxy = {"name": "behind", "host": "127.0.0.1", "port": self.proxies["postgres"].port, "protected": False}
        login = {"admin_user": "postgres", "admin_password": passwords["postgres"], "sslmode": "disable"}
        with self.superuser() as session:
            session.execute("CREATE DATABASE behind OWNER app")
        self.clusters = {"demo": demo["id"], "behind": self.api.post("clusters/", at_proxy | login)["id"]}
        self.poolers = {one["kind"]: one["id"] for one in self.api.get("poolers/")["results"]}
        (app,) = self.api.get("pools/")["results"]
        self.pools = {
            "pgbouncer": app["id"],
            "pgpool": self._made("pgpool", "demo", name="app", mode="session", size=32),
            "behind": self._made("pgbouncer", "behind", name="behind", mode="transaction", size=8),
        }
        tables = {"target": {"cluster": self.clusters["behind"], "database": "behind", "user": "app"}}
        made = self.api.post("runs/", tables | {"purpose": "prepare", "options": {"scale": 1}})
        self.api.wait(f"runs/{made['id']}/", "status", {"succeeded"}, 60)

    def _made(self, pooler: str, cluster: str, **pool: object) -> str:
        of_app = {"database": DATABASES[cluster], "user": "app", "user_password": self.kept["passwords"]["app"]}
        place = {"pooler": self.poolers[pooler], "cluster": self.clusters[cluster]}
        made = self.api.post("pools/", of_app | place | pool)
        self.api.wait(f"pools/{made['id']}/", "state", {"applied"}, 60)
        return str(made["id"])

    @contextmanager
    def way_of(self, cell: Cell) -> Iterator[None]:
        """Let the panel and its loads reach the pooler that a cell strikes through the proxy before it meanwhile."""
        if not cell.needs_proxies or cell.process not in self.poolers:
            yield
            return
        self._lead(cell.process, self.proxies[cell.process].port)
        try:
            yield
        finally:
            self._lead(cell.process, self.ports[cell.process])

    def _lead(self, pooler: str, port: int) -> None:
        """Change the port at which the panel reaches a pooler; what came before may still keep it busy."""
        password = self.kept["passwords"]["pgbouncer" if pooler == "pgbouncer" else "postgres"]
        deadline = time.monotonic() + LED_WITHIN_S
        while True:
            try:
                path, change = f"poolers/{self.poolers[pooler]}/", {"port": port, "admin_password": password}
                self.api.call("PATCH", path, change)
            except (Refused, OSError, HTTPException):
                if time.monotonic() > deadline:
                    raise
                time.sleep(1)
            else:
                return

    def process_of(self, name: str) -> int:
        """Return the process that is the head of a program, 0 while there is none."""
        if server := self.own.get(name):
            return server.process.pid if server.process and server.is_running else 0
        return heads(self.installation).get(name, 0)

    def start_ended(self) -> None:
        """Start the servers of the test that have ended, as a PostgreSQL without room for its WAL does."""
        for server in self.own.values():
            if server.has_ended:
                server.process = None
                server.start()

    def disk_of(self, name: str) -> Path:
        """Return the folder whose disk a program writes to."""
        return self.folder / (name if name in self.own else DISK_OF.get(name, "home"))

    def its_own(self) -> set[int]:
        """Return the processes of the installation that are to be there."""
        tops = (self.installation.process.pid, *map(self.process_of, self.own))
        return {pid for top in tops for pid in (top, *below(top))}

    def console(self) -> "psycopg.Connection[Any]":
        """Log in to PgBouncer's console, past the proxy."""
        login = {"user": "pooldeck", "password": self.kept["passwords"]["pgbouncer"]}
        return psycopg.connect(
            host="127.0.0.1", port=self.ports["pgbouncer"], dbname="pgbouncer", autocommit=True, **login
        )

    def superuser(self, database: str = "app") -> "psycopg.Connection[Any]":
        """Log in to the demo's server as its superuser, in the database of the load."""
        login = {"user": "postgres", "password": self.kept["passwords"]["postgres"], "dbname": database}
        return psycopg.connect(host="127.0.0.1", port=self.ports["postgres"], autocommit=True, **login)

    def client(self, pooler: str, pool: str = "app") -> "psycopg.Connection[Any]":
        """Log in to the pool of a pooler, past its proxy."""
        login = {"user": "app", "password": self.kept["passwords"]["app"], "dbname": pool}
        return psycopg.connect(host="127.0.0.1", port=self.ports[pooler], connect_timeout=2, autocommit=True, **login)


def _url(port: int) -> str:
    """Return the address of the metadata database at a port."""
    return f"postgresql://{DATABASE}:panel@{LOOPBACK}:{port}/{DATABASE}"


def _mount(stack: ExitStack, folder: Path, megabytes: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=711", "tmpfs", folder], check=True)
    stack.callback(_unmount, folder)


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", folder], check=True)
