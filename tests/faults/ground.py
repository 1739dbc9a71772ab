"""An installation with its metadata in PostgreSQL, disks of its own that can get full, and proxies on the way."""

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import psycopg

from panel.quickstart.ports import free_port
from panel.quickstart.servers import PostgresServer
from tests.faults.proxy import Proxy
from tests.installation import Installation
from tests.programs import below, heads

# Megabytes of each disk; "home" holds logs, keys and everything of the panel but its database.
DISKS = {"home": 300, "home/postgres": 1500, "home/redis": 60, "home/pgbouncer": 8, "home/pgpool": 16, "metadata": 300}
DISK_OF = {"postgres": "home/postgres", "metadata": "metadata"} | {
    name: f"home/{name}" for name in ("redis", "pgbouncer", "pgpool")
}
DATABASE = "pooldeck"
DATABASES = {"demo": "app", "behind": "behind"}  # of the loads, by cluster


class OwnInstallation(Installation):
    """`script/up` whose metadata database is a server that the test can stop."""

    def __init__(self, home: Path, database_url: str) -> None:
        super().__init__(home, "--port", str(free_port()), program=("env", f"DATABASE_URL={database_url}", *UP))


UP = (str(Path(__file__).resolve().parents[2] / "script" / "up"),)


class Ground:
    """Everything that faults strike, as a context manager; mounts disks in `folder` where it may (as root)."""

    def __init__(self, folder: Path, *, has_disks: bool = True) -> None:
        self.has_disks = has_disks
        self.folder, self.home = folder, folder / "home"
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
        stack.enter_context(self.metadata)
        self.metadata.create_owner_and_database(DATABASE, "panel", DATABASE)
        url = f"postgresql://{DATABASE}:panel@127.0.0.1:{self.metadata.port}/{DATABASE}"
        self.installation = stack.enter_context(OwnInstallation(self.home, url))
        self.api = self.installation.api
        self.kept = json.loads((self.home / "installation.json").read_text())
        self.ports: dict[str, int] = self.kept["ports"]
        self.proxies = {name: stack.enter_context(Proxy(self.ports[name])) for name in ("postgres", "pgbouncer")}
        self._put_proxies_on_the_way()

    def _put_proxies_on_the_way(self) -> None:
        """Add an endpoint of PgBouncer's behind a proxy, and a cluster, which is the demo's server behind another."""
        (demo,) = self.api.get("clusters/")["results"]
        passwords = self.kept["passwords"]
        at_proxy = {"name": "behind", "host": "127.0.0.1", "port": self.proxies["postgres"].port, "protected": False}
        login = {"admin_user": "postgres", "admin_password": passwords["postgres"], "sslmode": "disable"}
        with self.superuser() as session:
            session.execute("CREATE DATABASE behind OWNER app")
        self.clusters = {"demo": demo["id"], "behind": self.api.post("clusters/", at_proxy | login)["id"]}
        self.poolers = {one["kind"]: one["id"] for one in self.api.get("poolers/")["results"]}
        uri = f"postgresql://app:{passwords['app']}@127.0.0.1:{self.proxies['pgbouncer'].port}/app?sslmode=disable"
        self.endpoint: str = self.api.post("external-endpoints/", {"name": "proxy", "uri": uri})["id"]
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

    def process_of(self, name: str) -> int:
        """Return the process that is the head of a program, 0 while there is none."""
        if name == "metadata":
            process = self.metadata.process
            return process.pid if process and self.metadata.is_running else 0
        return heads(self.installation).get(name, 0)

    def disk_of(self, name: str) -> Path:
        """Return the folder whose disk a program writes to."""
        return self.folder / DISK_OF.get(name, "home")

    def its_own(self) -> set[int]:
        """Return the processes of the installation that are to be there."""
        metadata = self.process_of("metadata")
        return {self.installation.process.pid, *below(self.installation.process.pid), metadata, *below(metadata)}

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


def _mount(stack: ExitStack, folder: Path, megabytes: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=711", "tmpfs", folder], check=True)
    stack.callback(_unmount, folder)


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", folder], check=True)
