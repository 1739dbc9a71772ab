"""Where a secret could come to lie while the panel works: each place is watched or read whole."""

import os
import re
import socketserver
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import redis

from panel.quickstart.servers import PostgresServer

Piece = tuple[str, bytes]  # where it was, and what stood there
LOOK_EVERY_S = 0.02


class Webhook(ThreadingHTTPServer):
    """Keeps what it is sent: the first line and the body apart, since the address is a secret of both sides."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Post)
        self.got: list[tuple[str, bytes]] = []


class _Post(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, bytes(self.headers) + body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words: Any) -> None: ...


class MailServer(socketserver.ThreadingTCPServer):
    """Takes letters (RFC 5321) without encryption, and every login."""

    daemon_threads = allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Mail)
        self.got: list[bytes] = []


class _Mail(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self.wfile.write(b"220 mail\r\n")
        for line in self.rfile:
            word = line[:4].upper().strip()
            self.wfile.write(self._answers.get(word, b"250 ok\r\n"))
            if word == b"DATA":
                self.server.got.append(self._letter())
                self.wfile.write(b"250 taken\r\n")
            elif word == b"QUIT":
                return

    _answers = {
        b"EHLO": b"250-mail\r\n250 AUTH PLAIN\r\n",
        b"AUTH": b"235 welcome\r\n",
        b"DATA": b"354 go on\r\n",
        b"QUIT": b"221 bye\r\n",
    }

    def _letter(self) -> bytes:
        return b"".join(iter(self.rfile.readline, b".\r\n"))


def letters(server: MailServer) -> Iterator[Piece]:
    """Each as it came, and its decoded texts."""
    for number, letter in enumerate(server.got):
        parts = [part.get_payload(decode=True) for part in message_from_bytes(letter, policy=policy.default).walk()]
        yield f"letter {number}", b"\n".join([letter, *(part for part in parts if isinstance(part, bytes))])


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    """Serve for the block."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class RedisCommands:
    """All that anybody sends to a Redis, queued messages included (MONITOR), and in the end all that it holds."""

    def __init__(self, url: str) -> None:
        self.client = redis.Redis.from_url(url)
        self.seen: list[bytes] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "RedisCommands":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with suppress(redis.RedisError):
            self.client.ping()  # a last command wakes the one who listens
        self._thread.join(5)
        self.client.close()

    def _watch(self) -> None:
        with suppress(redis.RedisError), self.client.monitor() as monitor:
            while not self._over.is_set():
                self.seen.append(monitor.next_command()["command"].encode())

    def pieces(self) -> Iterator[Piece]:
        """Commands, each with the quotes of MONITOR undone, and the keys that there are now, of every type."""
        for number, command in enumerate(self.seen):
            yield f"command {number}", command + b"\n" + re.sub(rb'\\(["\\])', rb"\1", command)
        for key in self.client.scan_iter(count=1000):
            yield f"key {key!r}", key + b"\n" + repr(self._held(key)).encode() + b"\n".join(self._raw(key))

    def _held(self, key: bytes) -> Any:
        kind = self.client.type(key)
        reads = {
            b"string": self.client.get,
            b"hash": self.client.hgetall,
            b"set": self.client.smembers,
            b"list": lambda one: self.client.lrange(one, 0, -1),
            b"zset": lambda one: self.client.zrange(one, 0, -1, withscores=True),
            b"stream": self.client.xrange,
            b"none": lambda _: None,  # it has expired
        }
        return reads[kind](key)

    def _raw(self, key: bytes) -> Iterator[bytes]:
        held = self._held(key)
        if isinstance(held, bytes):
            yield held
        elif isinstance(held, (list, set)):
            yield from (one for one in held if isinstance(one, bytes))


class Processes:
    """Command lines and environments of all processes below this one, looked at again and again."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, bytes], set[bytes]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Processes":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(10)

    def _watch(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            with suppress(psutil.Error):
                self._look(psutil.Process().children(recursive=True))

    def _look(self, processes: list[psutil.Process]) -> None:
        for process in processes:
            with suppress(OSError):
                folder = Path(f"/proc/{process.pid}")
                line = (folder / "cmdline").read_bytes()
                if b"script/up" in Path(f"/proc/{process.ppid()}/cmdline").read_bytes():
                    line += b" (of script/up)"
                self.seen.setdefault(("cmdline", line), set()).add(line)
                self.seen.setdefault(("environ", line), set()).add((folder / "environ").read_bytes())

    def pieces(self, kind: str) -> Iterator[tuple[str, list[bytes]]]:
        """Each command line with what was seen of that kind: the line itself, or the variables."""
        for (name, line), seen in list(self.seen.items()):
            if name == kind:
                yield (
                    line.replace(b"\0", b" ").decode(errors="replace").strip(),
                    [one for text in seen for one in text.split(b"\0")],
                )


def files(*folders: Path, without: tuple[str, ...] = ()) -> Iterator[Piece]:
    """Every file below the folders, but for those whose path from there matches a pattern."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            relative = path.relative_to(folder)
            if any(relative.match(pattern) or _is_below(relative, pattern) for pattern in without):
                continue
            with suppress(FileNotFoundError):  # it ended since it was listed
                if stat.S_ISREG(path.lstat().st_mode):
                    yield str(path), os.fsencode(path) + b"\n" + path.read_bytes()


def _is_below(path: Path, pattern: str) -> bool:
    return any(parent.match(pattern) for parent in path.parents if parent.name)


def dump(server: PostgresServer, database: str, folder: Path) -> bytes:
    """Return all rows of a database as text."""
    passfile = folder / "pgpass"
    passfile.write_text(f"*:*:*:*:{server.password}\n")
    passfile.chmod(0o600)
    argv = [str(server.bindir / "pg_dump"), "-h", server.host, "-p", str(server.port), "-U", server.superuser, database]
    environment = {"PGPASSFILE": str(passfile), "PATH": os.environ["PATH"]}
    return subprocess.run(argv, env=environment, capture_output=True, check=True).stdout


def restored(server: PostgresServer, copy: Path) -> bytes:
    """Return a custom-format backup as text."""
    return subprocess.run([str(server.bindir / "pg_restore"), "-f", "-", copy], capture_output=True, check=True).stdout
