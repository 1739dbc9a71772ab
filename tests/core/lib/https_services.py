"""A service on loopback that is asked by HTTPS under a name that only a fake resolver knows."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.certificates import self_signed

NAME = "ntfy.example"


class Service(ThreadingHTTPServer):
    """Keeps what it is sent, and answers with `status` and `text`; a redirect leads to another host.

    What has one of the words `refused` in it is answered with 403.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.status, self.text = 200, "{}"
        self.refused: set[str] = set()
        self.drips: str = ""  # the part of an answer that comes a byte at a time: its headers, or its body
        self.got: list[tuple[str, str, bytes]] = []  # path, the header Host, body

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def place(self) -> str:
        return f"{NAME}:{self.port}"

    def handle_error(self, *words: Any) -> None:
        """Say nothing of clients that end the connection: some do as they see the certificate."""


class _Answer(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.got.append((self.path, self.headers["Host"], body))
        if self.server.drips:
            self._drip(self.server.drips)
            return
        is_refused = any(word.encode() in body for word in self.server.refused)
        self.send_response(403 if is_refused else self.server.status)
        self.send_header("Location", "https://elsewhere.example/")
        self.send_header("Content-Length", str(len(self.server.text)))
        self.end_headers()
        self.wfile.write(self.server.text.encode())

    def _drip(self, part: str) -> None:
        """Send a byte now and then, for longer than a client has patience, and then the end."""
        start, end = b"HTTP/1.0 200 OK\r\nX-Slow: ", b"\r\n\r\n"
        self.wfile.write(start if part == "headers" else start + end)
        for _byte in range(400):
            self.wfile.write(b"x")
            time.sleep(0.02)
        self.wfile.write(end)

    do_GET = do_POST

    def log_message(self, *words: Any) -> None: ...


@contextmanager
def serving(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """Start the service with a certificate for its name, which this machine trusts for as long."""
    key, certificate = (folder / name for name in ("key.pem", "certificate.pem"))
    for path, text in zip((key, certificate), self_signed(NAME), strict=True):
        path.write_text(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Service() as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def resolve_by(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Let names be resolved to these addresses, one list for each question; return the names that are asked for."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def fake(name: str, port: Any, *words: Any, **named: Any) -> Any:
        if not str(name).endswith(".example"):
            return real(name, port, *words, **named)
        asked.append(str(name))
        found = answers[min(len(asked), len(answers)) - 1]
        kinds = [socket.AF_INET6 if ":" in one else socket.AF_INET for one in found]
        return [(kind, socket.SOCK_STREAM, 6, "", (one, port)) for kind, one in zip(kinds, found, strict=True)]

    monkeypatch.setattr(socket, "getaddrinfo", fake)
    return asked
