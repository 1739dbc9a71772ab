"""Syslog to real sockets: the form of messages, each transport, and what counts as arrived."""

import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.lib import syslog
from core.lib.syslog import Certificates, Message, Receiver, SyslogFailed, Transport
from panel.quickstart import tls

AT = datetime(2026, 11, 28, 9, 5, 7, 120, tzinfo=UTC)
MESSAGES = [Message(AT, "pool.change", f'{{"number": {number}}}') for number in range(3)]
LOOPBACK = ["127.0.0.1"]


@pytest.mark.parametrize(
    ("raw", "parsed"),
    [
        ("udp://logs.example.org", Receiver(Transport.UDP, "logs.example.org", 514)),
        ("tcp://logs.example.org:1514", Receiver(Transport.TCP, "logs.example.org", 1514)),
        ("tls://[2001:db8::1]", Receiver(Transport.TLS, "2001:db8::1", 6514)),
        ("/dev/log", Receiver(Transport.LOCAL, path="/dev/log")),
        ("unix:///run/log", Receiver(Transport.LOCAL, path="/run/log")),
    ],
)
def test_addresses_are_parsed(raw: str, parsed: Receiver) -> None:
    assert syslog.parse(raw) == parsed


@pytest.mark.parametrize("raw", ["logs.example.org", "http://h", "tcp://", "tcp://h/path", "tls://u:p@h", "unix://h/p"])
def test_other_addresses_are_refused(raw: str) -> None:
    with pytest.raises(ValueError, match="use udp://HOST:PORT"):
        syslog.parse(raw)


def test_a_message_has_the_form_of_rfc_5424() -> None:
    assert syslog.formatted(MESSAGES[0], "panel") == (
        b'<110>1 2026-11-28T09:05:07.000120Z panel pooldeck - pool.change - {"number": 0}'
    )
    long = Message(AT, f"a b{'x' * 40}", "{}")
    assert syslog.formatted(long, "").split()[2:6] == [b"-", b"pooldeck", b"-", b"a?b" + b"x" * 29]
    assert syslog.counted([b"abc", b"defgh"]) == b"3 abc5 defgh"


class Reading(socketserver.StreamRequestHandler):
    """Reads to the end of the connection, as receivers do."""

    def handle(self) -> None:
        self.server.got.append(self.rfile.read())  # type: ignore[attr-defined]


@contextmanager
def serving(handler: type[socketserver.BaseRequestHandler], context: ssl.SSLContext | None = None) -> Iterator[tuple]:
    with socketserver.TCPServer(("127.0.0.1", 0), handler) as server:
        server.got = []  # type: ignore[attr-defined]
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_address[1], server.got  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


WHOLE = syslog.counted(syslog.formatted(message, socket.gethostname()) for message in MESSAGES)


def test_tcp_carries_all_in_order() -> None:
    with serving(Reading) as (port, got):
        syslog.send(Receiver(Transport.TCP, "localhost", port), LOOPBACK, MESSAGES)
    assert got == [WHOLE]


def test_tls_verifies_the_receiver(tmp_path: Path) -> None:
    files = tls.ensure(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    with serving(Reading, context) as (port, got):
        receiver = Receiver(Transport.TLS, "localhost", port)
        syslog.send(receiver, LOOPBACK, MESSAGES, Certificates(str(files.authority)))
        with pytest.raises(SyslogFailed, match="certificate verify failed"):
            syslog.send(receiver, LOOPBACK, MESSAGES)
        with pytest.raises(SyslogFailed, match="certificate verify failed"):
            syslog.send(receiver._replace(host="elsewhere"), LOOPBACK, MESSAGES, Certificates(str(files.authority)))
    assert [one for one in got if one] == [WHOLE]


class Deaf(socketserver.BaseRequestHandler):
    """Ends the connection without reading it, as the kernel does for a process that is killed."""

    def handle(self) -> None:
        self.request.close()


class Silent(socketserver.BaseRequestHandler):
    """Reads, but never ends its side within the client's patience."""

    def handle(self) -> None:
        while self.request.recv(4096):
            pass
        threading.Event().wait(1)


def test_what_the_receiver_did_not_read_has_not_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Deaf) as (port, _got), pytest.raises(SyslogFailed):
        syslog.send(Receiver(Transport.TCP, "localhost", port), LOOPBACK, MESSAGES * 200)
    monkeypatch.setattr(syslog, "ANSWER_WITHIN_S", 0.3)
    with serving(Silent) as (port, _got), pytest.raises(SyslogFailed, match="whether it has read all is unknown"):
        syslog.send(Receiver(Transport.TCP, "localhost", port), LOOPBACK, MESSAGES)


def test_a_receiver_that_is_down_is_named() -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(SyslogFailed, match=f"tcp://localhost:{port}: Connection refused"):
        syslog.send(Receiver(Transport.TCP, "localhost", port), LOOPBACK, MESSAGES)
    with pytest.raises(SyslogFailed, match="its name has no address"):
        syslog.send(Receiver(Transport.TCP, "localhost", port), [], MESSAGES)


def test_udp_sends_a_datagram_for_each() -> None:
    with closing(socket.socket(type=socket.SOCK_DGRAM)) as udp:
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(5)
        syslog.send(Receiver(Transport.UDP, "localhost", udp.getsockname()[1]), LOOPBACK, MESSAGES)
        got = [udp.recv(70_000) for _ in MESSAGES]
    assert got == [syslog.formatted(message, socket.gethostname()) for message in MESSAGES]


@pytest.mark.parametrize(("kind", "end"), [(socket.SOCK_DGRAM, b""), (socket.SOCK_STREAM, b"\0")])
def test_a_local_socket_gets_what_syslog_3_sends(tmp_path: Path, kind: socket.SocketKind, end: bytes) -> None:
    path = str(tmp_path / "log")
    with closing(socket.socket(socket.AF_UNIX, kind)) as local:
        local.bind(path)
        if kind == socket.SOCK_STREAM:
            local.listen()
        syslog.send(Receiver(Transport.LOCAL, path=path), [], MESSAGES[:1])
        with closing(local if kind == socket.SOCK_DGRAM else local.accept()[0]) as connection:
            got = connection.recv(4096)
    at = AT.astimezone().strftime("%b %e %H:%M:%S").encode()
    assert got == b"<110>" + at + b' pooldeck: {"number": 0}' + end
    with pytest.raises(SyslogFailed, match=f"unix://{path}: Connection refused"):
        syslog.send(Receiver(Transport.LOCAL, path=path), [], MESSAGES[:1])
