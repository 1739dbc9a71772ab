"""The demo's Pgpool-II, whose folder the panel can write to."""

import os
import re
import signal
from contextlib import suppress
from pathlib import Path

import psycopg

from panel.quickstart import account
from panel.quickstart.servers import PANEL_MARK, PostgresServer, Server, binary, version_of


class PgpoolServer(Server):
    """A Pgpool-II in raw mode: session pooling in front of one PostgreSQL, SCRAM on both sides."""

    name = "pgpool"
    stop_signal = orphan_signal = signal.SIGINT  # fast shutdown; a killed parent would leave its children running
    not_ready = (psycopg.OperationalError,)
    children = 32  # the number of clients at once

    def __init__(
        self,
        home: Path,
        port: int,
        pcp_port: int,
        backend: PostgresServer,
        passwords: dict[str, str],
        binary_path: str | None = None,
    ) -> None:
        super().__init__(home, port)
        self.pcp_port, self.backend, self.passwords = pcp_port, backend, passwords
        self.binary = binary_path or binary("pgpool")
        self.config_dir = home / "config"

    @property
    def is_stopping(self) -> bool:
        """True if it waits for its clients to leave (SIGTERM): its PCP process is gone, busy children listen on."""
        return self.has_lost(not any("PCP" in title for title in self._titles_of_children()))

    def ask_to_stop(self) -> None:
        """Send its children the signal too where it waits for them: then it no longer passes a signal on."""
        if self.process is not None and self.is_running and self.is_stopping:
            os.killpg(self.process.pid, self.stop_signal)
        else:
            super().ask_to_stop()

    def _titles_of_children(self) -> list[str]:
        titles = []
        if self.process is not None:
            with suppress(OSError):  # one of them has ended
                children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
                titles = [Path(f"/proc/{child}/cmdline").read_text(errors="replace") for child in children]
        return titles

    @property
    def argv(self) -> list[str]:
        """The passwords are in pool_passwd; `-D` forgets a backend that was down at the last end."""
        files = {"-f": "pgpool.conf", "-F": "pcp.conf", "-a": "pool_hba.conf"}
        return [
            self.binary,
            "-n",
            "-D",
            *(w for flag, name in files.items() for w in (flag, str(self.config_dir / name))),
        ]

    def prepare(self) -> None:
        """Write its four files with the current port and backend; the panel's part is kept."""
        super().prepare()
        account.make_folder(self.config_dir)
        account.make_folder(self.socket_folder)
        (self.home / "pgpool.pid").unlink(missing_ok=True)
        for path in self.socket_folder.glob(".s.PGSQL.*"):
            path.unlink()  # left by a killed parent; Pgpool-II would refuse to start
        logins = "".join(f"{user}:TEXT{password}\n" for user, password in self.passwords.items())
        self._write_above("pool_passwd", logins)
        rules = "".join(f'host all "{user}" 0.0.0.0/0 scram-sha-256\n' for user in self.passwords)
        self._write_above("pool_hba.conf", rules)
        self._write_above("pcp.conf", "")
        self._write_above("pgpool.conf", self._conf())

    def _write_above(self, name: str, text: str) -> None:
        """Write the operator's part; in the panel's part below it, update the backend's port."""
        path = self.config_dir / name
        _, mark, below = (path.read_text() if path.exists() else "").partition(PANEL_MARK)
        below = re.sub(r"(?m)^backend_port0 = \d+$", f"backend_port0 = {self.backend.port}", below)
        account.write_private(path, text + mark + below)

    def _conf(self) -> str:
        settings = {
            "backend_clustering_mode": "'raw'",
            "listen_addresses": f"'{self.host}'",
            "port": self.port,
            # renamed in 4.4 (its release notes)
            "socket_dir" if version_of(self.binary) < (4, 4) else "unix_socket_directories": f"'{self.socket_folder}'",
            "pcp_socket_dir": f"'{self.socket_folder}'",
            "pcp_listen_addresses": f"'{self.host}'",
            "pcp_port": self.pcp_port,
            "pid_file_name": f"'{self.home / 'pgpool.pid'}'",
            "logdir" if version_of(self.binary) < (4, 7) else "work_dir": f"'{self.home}'",
            "backend_hostname0": f"'{self.backend.host}'",
            "backend_port0": self.backend.port,
            "backend_weight0": 1,
            "num_init_children": self.children,
            "max_pool": 1,
            "connection_cache": "on",
            "enable_shared_relcache": "off",  # The shared cache would take 130 MB of shared memory.
            "enable_pool_hba": "on",
            "pool_passwd": "'pool_passwd'",  # always read beside pgpool.conf
            "failover_on_backend_error": "off",
        }
        return "".join(f"{name} = {value}\n" for name, value in settings.items())

    def probe(self) -> None:
        """Log in through it as the backend's superuser."""
        psycopg.connect(
            host=self.host,
            port=self.port,
            user=self.backend.superuser,
            password=self.backend.password,
            dbname="postgres",
            connect_timeout=5,
        ).close()
