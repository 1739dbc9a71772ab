"""Private servers: PostgreSQL, Redis and PgBouncer, with passwords and SCRAM."""

import os
import re
import shutil
import signal
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import redis
from psycopg import sql

from panel.quickstart import account, leftovers
from panel.quickstart.ports import LOOPBACK, free_port, is_free
from panel.quickstart.programs import PLAIN_ENVIRONMENT, Program, ProgramFailed

__all__ = ["PgBouncerServer", "PostgresServer", "RedisServer", "Server", "free_port"]

PANEL_MARK = "# ---- Pooldeck "  # begins the line between the operator's part and the panel's (pools.poolers.pgpool)
SOCKET_PATH_LIMIT = 100  # sun_path holds 107 bytes, including the file name (unix(7))


def newest_postgresql() -> Path:
    """Return the folder of the newest PostgreSQL's programs: Debian's, else the one on the PATH."""
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    if folders:
        return max(folders, key=lambda folder: float(folder.parent.name))
    on_path = shutil.which("postgres")
    if not on_path:
        raise ProgramFailed("PostgreSQL's server is not installed: install the package postgresql")
    return Path(on_path).resolve().parent


@cache
def binary(name: str) -> str:
    """Return the full path of a program on the PATH or in /usr/sbin; raises `ProgramFailed`."""
    path = shutil.which(name) or shutil.which(name, path=PLAIN_ENVIRONMENT["PATH"])
    if not path:
        raise ProgramFailed(
            f"{name} is not installed: script/up installs it in a checkout; elsewhere, install the Debian packages "
            "postgresql, pgbouncer, pgpool2 and redis-server"
        )
    return path


@cache
def version_of(program: str) -> tuple[int, int]:
    """Return major and minor version as `PROGRAM --version` prints them."""
    argv = [program, "--version"]
    printed = subprocess.run(argv, env=PLAIN_ENVIRONMENT, capture_output=True, text=True, check=False)
    numbers = re.search(r"(\d+)\.(\d+)", printed.stdout + printed.stderr)
    if not numbers:
        raise ProgramFailed(f"{program} --version printed no version: {printed.stdout + printed.stderr!r}")
    return int(numbers[1]), int(numbers[2])


class Server(Program):
    """A program that listens on 127.0.0.1 and keeps its files in `home`, which belongs to the account it runs as."""

    drops = True
    host = LOOPBACK

    def __init__(self, home: Path, port: int) -> None:
        super().__init__(home)
        self.port, self.has_served = port, False

    @property
    def socket_folder(self) -> Path:
        """Its home, or a short folder under /tmp where a socket's path would be too long."""
        if len(os.fsencode(self.home)) <= SOCKET_PATH_LIMIT - len("/.s.PGSQL.65535"):
            return self.home
        return Path("/tmp") / f"pooldeck-{sha256(os.fsencode(self.home)).hexdigest()[:12]}"  # noqa: S108 (0700, ours)

    def prepare(self) -> None:
        """Create the home."""
        account.make_folder(self.home)
        self.has_served = False

    def has_lost(self, is_missing: bool) -> bool:
        """Return whether something is missing that was there at an earlier question since its start."""
        self.has_served |= not is_missing
        return is_missing and self.has_served


MADE_BY_INITDB = re.compile(r"(?m)^(host +all +all +(?:127\.0\.0\.1/32|::1/128) +)scram-sha-256$")


class PostgresServer(Server):
    """A PostgreSQL with SCRAM passwords for all users; TCP only, because a socket path could be too long."""

    name = "postgres"
    stop_signal = orphan_signal = signal.SIGINT  # fast shutdown
    not_ready = (psycopg.OperationalError,)

    def __init__(
        self,
        home: Path,
        port: int,
        superuser: str = "postgres",
        password: str = "",
        bindir: Path | None = None,
        settings: dict[str, str] | None = None,
        *,
        lets_in_md5: bool = False,
    ) -> None:
        super().__init__(home, port)
        self.superuser, self.password, self.lets_in_md5 = superuser, password, lets_in_md5
        self.bindir = bindir or newest_postgresql()
        self.settings = settings or {}

    @property
    def cluster_folder(self) -> Path:
        """The folder that initdb made."""
        return self.home / "cluster"

    @property
    def argv(self) -> list[str]:
        """Every setting on the command line; the superuser's password went in by initdb."""
        server_settings = {
            "listen_addresses": self.host,
            "port": str(self.port),
            "unix_socket_directories": "",
            **self.settings,
        }
        words = [word for name, value in server_settings.items() for word in ("-c", f"{name}={value}")]
        return [str(self.bindir / "postgres"), "-D", str(self.cluster_folder), *words]

    @property
    def is_stopping(self) -> bool:
        """True if it shuts down: by a smart shutdown (SIGTERM) for as long as any session stays."""
        return leftovers.is_stopping(self.cluster_folder / "postmaster.pid")

    def prepare(self) -> None:
        """Run initdb once, in a folder that is renamed when complete; later, clean up after a killed server."""
        super().prepare()
        if self.cluster_folder.exists():
            leftovers.clear(self.cluster_folder)
            return self._allow_md5()
        fresh, password_file = self.home / "cluster.new", self.home / "password"
        shutil.rmtree(fresh, ignore_errors=True)
        account.write_private(password_file, self.password + "\n")
        try:
            self._initdb(fresh, password_file)
        finally:
            password_file.unlink()
        fresh.rename(self.cluster_folder)
        self._allow_md5()

    def _allow_md5(self) -> None:
        """Let roles with an MD5 hash log in too, which playbooks measure; all others still log in by SCRAM.

        The method md5 chooses SCRAM by itself for a role with a SCRAM hash (the manual on password authentication).
        Only the lines that initdb wrote are changed.
        """
        rules = self.cluster_folder / "pg_hba.conf"
        if self.lets_in_md5 and MADE_BY_INITDB.search(text := rules.read_text()):
            rules.write_text(MADE_BY_INITDB.sub(r"\1md5", text))

    def _initdb(self, folder: Path, password_file: Path) -> None:
        words = [f"--pgdata={folder}", f"--username={self.superuser}", f"--pwfile={password_file}"]
        # --no-sync: a crash of the machine could only damage a folder that was never used
        words += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        argv = account.as_unprivileged([str(self.bindir / "initdb"), *words], signal.SIGKILL, self.home)
        done = subprocess.run(argv, env=self.environment, cwd=self.home, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ProgramFailed(f"initdb failed with exit code {done.returncode}:\n{done.stdout}{done.stderr}")

    def connect(self, database: str = "postgres") -> "psycopg.Connection[Any]":
        """Open a superuser session in autocommit mode."""
        return psycopg.connect(
            host=self.host,
            port=self.port,
            user=self.superuser,
            password=self.password,
            dbname=database,
            connect_timeout=5,
            application_name="pooldeck quickstart",
            autocommit=True,
        )

    def probe(self) -> None:
        """Log in with the password."""
        self.connect().close()

    def create_owner_and_database(self, role: str, password: str, database: str) -> None:
        """Create a login role and its database, unless they exist."""
        with self.connect() as session:
            if not session.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).fetchall():
                make = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(role), sql.Literal(password))
                session.execute(make)
            if not session.execute("SELECT FROM pg_database WHERE datname = %s", [database]).fetchall():
                names = sql.Identifier(database), sql.Identifier(role)
                session.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(*names))


class RedisServer(Server):
    """A Redis with a password and without persistence: permanent data is in the metadata database."""

    name = "redis"
    not_ready = (redis.RedisError,)

    def __init__(self, home: Path, port: int, password: str) -> None:
        super().__init__(home, port)
        self.password = password

    @property
    def argv(self) -> list[str]:
        """The password is in the file."""
        return [binary("redis-server"), str(self.home / "redis.conf")]

    @property
    def url(self) -> str:
        """The value for REDIS_URL."""
        return f"redis://:{self.password}@{self.host}:{self.port}/0"

    def prepare(self) -> None:
        """Write redis.conf."""
        super().prepare()
        lines = [f"bind {self.host}", f"port {self.port}", f"requirepass {self.password}", f"dir {self.home}"]
        account.write_private(self.home / "redis.conf", "\n".join([*lines, 'save ""', "appendonly no"]) + "\n")

    def probe(self) -> None:
        """PING with the password."""
        with redis.Redis.from_url(self.url, socket_connect_timeout=2, socket_timeout=2) as client:
            client.ping()


class PgBouncerServer(Server):
    """A PgBouncer whose configuration folder, `config_dir`, the panel can write to."""

    name = "pgbouncer"
    not_ready = (psycopg.OperationalError,)
    orphan_signal = signal.SIGKILL  # the signal for an immediate shutdown differs between releases

    def __init__(
        self, home: Path, port: int, admin_user: str, admin_password: str, binary_path: str | None = None
    ) -> None:
        super().__init__(home, port)
        self.admin_user, self.admin_password = admin_user, admin_password
        self.own_settings: dict[str, object] = {}  # added to its first configuration
        self.binary = binary_path or binary("pgbouncer")
        self.config_dir = home / "config"
        # Since 1.23 SIGTERM waits for the clients to leave (PgBouncer's NEWS).
        self.stop_signal = signal.SIGTERM if version_of(self.binary) < (1, 23) else signal.SIGQUIT

    def wait_until_ready(self) -> None:
        """Remember that it has served, so that a SIGTERM before the first look at its port is seen too."""
        super().wait_until_ready()
        self.has_served = True

    @property
    def is_stopping(self) -> bool:
        """True if it waits for its clients to leave: since 1.23 after SIGTERM, it then closes its TCP sockets."""
        return self.has_lost(is_free(self.port, self.host))

    @property
    def argv(self) -> list[str]:
        """The console's password is in userlist.txt."""
        return [self.binary, str(self.config_dir / "pgbouncer.ini")]

    def prepare(self) -> None:
        """Write the first configuration, without databases; later only the panel changes it."""
        super().prepare()
        account.make_folder(self.config_dir)
        account.make_folder(self.socket_folder)
        (self.home / "pgbouncer.pid").unlink(missing_ok=True)  # A start that was killed leaves this file.
        if not (self.config_dir / "userlist.txt").exists():
            account.write_private(self.config_dir / "userlist.txt", f'"{self.admin_user}" "{self.admin_password}"\n')
        ini = self.config_dir / "pgbouncer.ini"
        if not ini.exists():
            account.write_private(ini, self._first_ini())
        self._follow_a_copied_home(ini)
        self._set_listen_address(ini)

    def _follow_a_copied_home(self, ini: Path) -> None:
        """Replace the folders of the home that this one was copied from."""
        kept = ini.read_text()
        named = re.search(r"(?m)^pidfile\s*=\s*(/.*)/pgbouncer\.pid$", kept)
        if named and named[1] != str(self.home):
            moved = re.sub(rf"{re.escape(named[1])}(?=/)", lambda _: str(self.home), kept)
            sockets = f"unix_socket_dir = {self.socket_folder}"
            account.write_private(ini, re.sub(r"(?m)^unix_socket_dir\s*=.*$", lambda _: sockets, moved))

    def _first_ini(self) -> str:
        settings = {
            "listen_addr": self.host,
            "listen_port": self.port,
            "unix_socket_dir": self.socket_folder,
            "auth_type": "scram-sha-256",
            "auth_file": self.config_dir / "userlist.txt",
            "admin_users": self.admin_user,
            "stats_users": self.admin_user,
            "pidfile": self.home / "pgbouncer.pid",
            "pool_mode": "transaction",
            "max_client_conn": 2000,
            "ignore_startup_parameters": "extra_float_digits",
            **self.own_settings,
        }
        lines = [f"{name} = {value}" for name, value in settings.items()]
        return "\n".join(["[databases]", "", "[pgbouncer]", *lines]) + "\n"

    def _set_listen_address(self, ini: Path) -> None:
        """Set the current address and port, which may have changed since the last start."""
        kept = edited = ini.read_text()
        for name, value in (("listen_addr", self.host), ("listen_port", self.port)):
            edited = re.sub(rf"(?m)^{name}\s*=.*$", f"{name} = {value}", edited)
        if edited != kept:
            account.write_private(ini, edited)

    def connect(self) -> "psycopg.Connection[Any]":
        """Open a session on its console (simple protocol only: no parameters)."""
        return psycopg.connect(
            host=self.host,
            port=self.port,
            user=self.admin_user,
            password=self.admin_password,
            dbname="pgbouncer",
            connect_timeout=5,
            autocommit=True,
        )

    def probe(self) -> None:
        """Log in to the console."""
        self.connect().close()
