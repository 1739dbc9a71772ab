"""An sshd of an ordinary account, with a port and a host key of its own; and a proxy that cuts its connections."""

import pwd
import signal
import socket
import threading
from contextlib import suppress
from pathlib import Path

from panel.quickstart import account
from panel.quickstart.servers import Server, binary
from pools.hosts import keys


class SshServer(Server):
    """It lets in the account that it runs as, by the lines of `authorized_keys` in its home."""

    name = "sshd"
    stop_signal = orphan_signal = signal.SIGTERM

    def __init__(self, home: Path, port: int) -> None:
        super().__init__(home, port)
        ours = account.unprivileged()
        self.user = ours.name if ours else pwd.getpwuid(home.stat().st_uid).pw_name

    @property
    def argv(self) -> list[str]:
        """In the foreground, with its log on stderr."""
        return [binary("sshd"), "-D", "-e", "-f", str(self.home / "sshd_config")]

    def prepare(self) -> None:
        """Write its configuration, and a host key where it has none."""
        super().prepare()
        settings = {
            "Port": self.port,
            "ListenAddress": self.host,
            "HostKey": self.home / "host_key",
            "AuthorizedKeysFile": self.home / "authorized_keys",
            "PidFile": "none",
            "UsePAM": "yes",
            "StrictModes": "no",
            "PasswordAuthentication": "no",
            "KbdInteractiveAuthentication": "no",
            "MaxStartups": 50,
        }
        account.write_private(
            self.home / "sshd_config", "".join(f"{name} {value}\n" for name, value in settings.items())
        )
        if not (self.home / "host_key").exists():
            self.make_host_key()
            self.let_in("")

    def make_host_key(self) -> None:
        """Replace its host key, as a new installation would."""
        private, public = keys.new_pair()
        account.write_private(self.home / "host_key", private)
        self.host_key = public

    def let_in(self, line: str) -> None:
        """Write the authorized_keys file."""
        account.write_private(self.home / "authorized_keys", line + "\n")

    def probe(self) -> None:
        """Read its banner."""
        with socket.create_connection((self.host, self.port), 2) as connection:
            connection.recv(100)


class CuttingProxy:
    """Forwards connections to a port, and cuts each after it has carried `limit` bytes towards it (None: never)."""

    def __init__(self, port: int) -> None:
        self.target, self.limit, self.carried = port, None, 0
        self.open: list[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    limit: int | None

    def cut(self) -> None:
        """Cut all connections that are open now."""
        opened, self.open = self.open, []
        for one in opened:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Take no further connections."""
        self.listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _address = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                self.carried = 0
                self.open += [client, server]
                threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        """Carry both ways; close when both have ended, since a number that is free is another connection's."""
        back = threading.Thread(target=self._carry, args=(server, client, False), daemon=True)
        back.start()
        self._carry(client, server, True)
        back.join()
        client.close()
        server.close()

    def _carry(self, source: socket.socket, target: socket.socket, counts: bool) -> None:
        with suppress(OSError):
            while chunk := source.recv(16384):
                if counts and self.limit is not None and self.carried + len(chunk) >= self.limit:
                    target.sendall(chunk[: max(0, self.limit - self.carried)])
                    self.carried = self.limit
                    break
                if counts:
                    self.carried += len(chunk)
                target.sendall(chunk)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
