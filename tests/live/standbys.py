"""Real streaming standbys: a base backup of a running server that follows it, and can be promoted."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from panel.quickstart import account
from panel.quickstart.programs import ProgramFailed
from panel.quickstart.servers import PostgresServer
from pools.models import Cluster

WITHIN_S = 60


class StandbyServer(PostgresServer):
    """A copy of `leader` that streams from it; the superuser's password is in a file of its own."""

    def __init__(self, home: Path, port: int, leader: PostgresServer) -> None:
        super().__init__(home, port, leader.superuser, leader.password, leader.bindir, leader.settings)
        self.leader = leader

    def _initdb(self, folder: Path, password_file: Path) -> None:
        """Take a base backup instead of a new system."""
        passfile = self.home / "passfile"
        account.write_private(passfile, f"*:*:*:*:{self.password}\n")
        follows = f"host={self.leader.host} port={self.leader.port} user={self.superuser} passfile={passfile}"
        words = ["-D", str(folder), "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", follows]
        argv = account.as_unprivileged([str(self.bindir / "pg_basebackup"), *words], signal.SIGKILL, self.home)
        done = subprocess.run(argv, env=self.environment, cwd=self.home, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ProgramFailed(f"pg_basebackup failed with exit code {done.returncode}:\n{done.stderr}")
        folder.chmod(0o700)

    def promote(self) -> None:
        """Make it a primary, and wait until it is."""
        with self.connect() as session:
            (promoted,) = session.execute("SELECT pg_promote(true, 20)").fetchone()
        assert promoted, self.log_tail

    def wait_until_streaming(self) -> "StandbyServer":
        """Wait until it receives from its leader."""
        streams = "SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'"
        with self.connect() as session:
            until(lambda: session.execute(streams).fetchone()[0])
        return self

    def catch_up(self) -> None:
        """Wait until it has replayed all that its leader wrote until now."""
        with self.leader.connect() as session:
            (end,) = session.execute("SELECT pg_current_wal_lsn()").fetchone()
        with self.connect() as session:
            until(lambda: session.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", [end]).fetchone()[0])


def typed(server: PostgresServer, **values: Any) -> dict[str, Any]:
    """What a person types for a node at this server."""
    return {"host": server.host, "port": server.port, "admin_password": server.password} | values


def registered(server: PostgresServer, name: str = "replicated") -> Cluster:
    """The server as a cluster that was never checked."""
    cluster = Cluster(name=name, host=server.host, port=server.port, admin_user=server.superuser, sslmode="disable")
    cluster.admin_password = server.password
    cluster.save(force_insert=True)
    return cluster


def until(true: Callable[[], Any], within_s: float = WITHIN_S) -> Any:
    """Wait until it is; the answer."""
    deadline = time.monotonic() + within_s
    while not (answer := true()):
        assert time.monotonic() < deadline, f"not within {within_s} s"
        time.sleep(0.05)
    return answer
