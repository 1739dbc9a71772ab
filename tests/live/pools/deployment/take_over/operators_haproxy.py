"""An HAProxy as operators have it, in several layouts of files."""

import os
import socket
from pathlib import Path

from panel.quickstart import account
from panel.quickstart.servers import free_port
from tests.live.haproxies import HAProxyServer

DEFAULTS = """defaults
\tlog\tglobal
\tmode\thttp
\toption\thttplog
\toption\tdontlognull
        timeout connect 5000
        timeout client  50000
        timeout server  50000
"""
STATS = """listen stats
    bind 127.0.0.1:@PAGE@
    stats enable
    stats uri /stats
    stats auth admin:secret-of-the-page
"""
LISTEN = """
# the servers of the shop
listen pg
    mode tcp
    bind 127.0.0.1:@PORT@
    maxconn 60
    balance leastconn
    option tcp-check
    server db1 127.0.0.1:@PG@ check inter 1s   # the primary
"""
PAIR = """defaults tcp
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h

frontend ft_pg
    bind *:@PORT@
    default_backend bk_pg
backend bk_pg
    server db1 127.0.0.1:@PG@ check
    server same localhost:@PG@ check backup
"""
OTHER = """listen reports
    mode tcp
    bind 127.0.0.1:@OTHER@
    server db1 127.0.0.1:@PG@
listen elsewhere
    mode tcp
    bind 127.0.0.1:@THIRD@
    server x 127.0.0.1:9
"""
LAYOUTS = {
    "listen": {"haproxy.cfg": DEFAULTS + LISTEN + STATS},
    "pair": {"haproxy.cfg": PAIR + OTHER},
    "crlf": {"haproxy.cfg": (PAIR + OTHER).replace("\n", "\r\n")},
    "several": {"lb.conf": DEFAULTS, "conf.d/10-pg.cfg": LISTEN, "conf.d/.hidden.cfg": "no", "conf.d/readme": "no"},
}


class OperatorsHAProxy(HAProxyServer):
    """An HAProxy of a layout, with its files as its operator wrote them."""

    def __init__(self, home: Path, layout: str, words: dict[str, str]) -> None:
        super().__init__(home, free_port())
        self.files, self.config_dir = LAYOUTS[layout], home / "etc"
        self.words = {**words, "@PORT@": str(self.port)}

    @property
    def argv(self) -> list[str]:
        folder = [str(self.config_dir / "conf.d")] if any("/" in name for name in self.files) else []
        mains = [str(self.config_dir / next(iter(self.files))), *folder]
        return [self.binary, "-W", "-db", *(word for path in mains for word in ("-f", path))]

    def prepare(self) -> None:
        """Write the files once."""
        account.make_folder(self.home)
        account.make_folder(self.socket_folder)
        account.make_folder(self.config_dir)
        head = f"global\n    stats socket {self.stats_socket} mode 600 level admin\n    maxconn 1000\n"
        for number, (name, text) in enumerate(self.files.items()):
            path = self.config_dir / name
            account.make_folder(path.parent)
            text = text if number else head.replace("\n", "\r\n" if "\r" in text else "\n") + text
            for word, value in self.words.items():
                text = text.replace(word, value)
            path.write_bytes(text.encode())
            path.chmod(0o644)
            if found := account.unprivileged():
                os.chown(path, found.uid, found.gid)

    @property
    def main(self) -> Path:
        return self.config_dir / next(iter(self.files))

    def bytes_of_all(self) -> dict[str, tuple[bytes, int, int]]:
        """Return name → bytes, mode and owner."""
        return {
            str(path.relative_to(self.config_dir)): (path.read_bytes(), path.stat().st_mode, path.stat().st_uid)
            for path in self.config_dir.rglob("*")
            if path.is_file()
        }

    def ask(self, command: str) -> str:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.stats_socket))
            connection.sendall(f"{command}\n".encode())
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode()

    def proxies(self) -> set[str]:
        """Return the names of what SHOW STAT has."""
        return {",".join(line.split(",")[:2]) for line in self.ask("show stat").splitlines() if "," in line}
