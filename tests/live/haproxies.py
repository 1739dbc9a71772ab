"""An HAProxy for tests: the demo has none."""

import signal
import socket
from pathlib import Path

from panel.quickstart import account
from panel.quickstart.servers import PANEL_MARK, Server, binary


class HAProxyServer(Server):
    """An HAProxy with a master process and a stats socket, and no frontend until the panel writes one at `port`."""

    name = "haproxy"
    not_ready = (OSError,)
    stop_signal = orphan_signal = signal.SIGTERM  # the master ends its workers

    def __init__(self, home: Path, port: int, binary_path: str | None = None) -> None:
        super().__init__(home, port)
        self.binary = binary_path or binary("haproxy")
        self.config_dir = home / "config"

    @property
    def stats_socket(self) -> Path:
        """Where its Runtime API answers."""
        return self.socket_folder / "admin.sock"

    @property
    def argv(self) -> list[str]:
        """In master-worker mode, as Debian's unit starts it."""
        return [self.binary, "-W", "-db", "-f", str(self.config_dir / "haproxy.cfg")]

    def prepare(self) -> None:
        """Write the operator's part; the panel's part below it is kept."""
        super().prepare()
        account.make_folder(self.config_dir)
        account.make_folder(self.socket_folder)
        path = self.config_dir / "haproxy.cfg"
        _, mark, below = (path.read_text() if path.exists() else "").partition(PANEL_MARK)
        above = f"global\n    stats socket {self.stats_socket} mode 600 level admin\n    maxconn 1000\n"
        account.write_private(path, above + mark + below)

    def probe(self) -> None:
        """Connect to the stats socket."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.stats_socket))
