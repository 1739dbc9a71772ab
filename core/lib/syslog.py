"""A client of syslog: RFC 5424 over UDP (RFC 5426), TCP (RFC 6587, counted octets) and TLS (RFC 5425), or /dev/log.

TCP alone confirms nothing: what a kernel took is lost when the receiver dies. So a batch has a connection of its own.
After the last message the client ends its side, and waits until the receiver ends the other: it does so once it has
read everything. A receiver that died in between resets the connection instead, and the batch counts as not sent. UDP
has nothing of the kind.
"""

import errno
import os
import re
import socket
import ssl
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlsplit

from core.lib.polling import poll

ANSWER_WITHIN_S = 5
TRIED_ADDRESSES = 2
DATAGRAM_BYTES = 60_000  # UDP carries 65,507, and a local socket as much as the kernel's buffer
AUDIT, INFORMATIONAL = 13, 6  # facility and severity of RFC 5424, 6.2.1
PRIORITY = AUDIT * 8 + INFORMATIONAL
APP = "pooldeck"
MSGID_CHARACTERS, HOST_CHARACTERS = 32, 255
CLOSE_WAIT, LAST_ACK, CLOSING = 8, 9, 11  # of linux/tcp_states.h
_NOT_PRINTABLE = re.compile(r"[^!-~]")


class Transport(StrEnum):
    """The ways to a receiver."""

    UDP = "udp"
    TCP = "tcp"
    TLS = "tls"
    LOCAL = "unix"


PORTS = {Transport.UDP: 514, Transport.TCP: 514, Transport.TLS: 6514}


class Receiver(NamedTuple):
    """Where syslog is received: a host and its port, or the path of a local socket."""

    transport: Transport
    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        return f"unix://{self.path}" if self.path else f"{self.transport}://{self.host}:{self.port}"


class Certificates(NamedTuple):
    """Files of TLS: the authorities to trust, by default the system's, and this client's certificate with its key."""

    authorities: str = ""
    own: str = ""


class Message(NamedTuple):
    """A message: when, its kind as one word, and its text in ASCII."""

    at: datetime
    kind: str
    text: str


class SyslogFailed(Exception):
    """The receiver did not take the messages, or may not have taken them."""


def parse(raw: str) -> Receiver:
    """Parse `udp://HOST:PORT`, `tcp://…`, `tls://…`, or the path of a local socket. Raises `ValueError`."""
    if raw.startswith("/"):
        return Receiver(Transport.LOCAL, path=raw)
    parts = urlsplit(raw)
    if parts.scheme == Transport.LOCAL and parts.path.startswith("/") and not parts.netloc:
        return Receiver(Transport.LOCAL, path=parts.path)
    if parts.scheme not in PORTS or not parts.hostname or parts.path.strip("/") or parts.username or parts.query:
        raise ValueError("use udp://HOST:PORT, tcp://HOST:PORT, tls://HOST:PORT or a path such as /dev/log")
    transport = Transport(parts.scheme)
    return Receiver(transport, parts.hostname, parts.port or PORTS[transport])


def send(
    receiver: Receiver,
    found: Sequence[str],
    messages: Sequence[Message],
    certificates: Certificates = Certificates(),  # noqa: B008 (it can't be changed)
) -> None:
    """Send messages in their order, to a host at one of the addresses `found`. Raises `SyslogFailed`."""
    try:
        if receiver.transport == Transport.LOCAL:
            _send_locally(receiver.path, messages)
        elif receiver.transport == Transport.UDP:
            _send_datagrams(receiver, found, messages)
        else:
            _send_by_stream(receiver, found, messages, certificates)
    except (OSError, SyslogFailed) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise SyslogFailed(f"{receiver}: {reason}") from error


def formatted(message: Message, host: str) -> bytes:
    """Return a message as RFC 5424 has it, without structured data."""
    at = message.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    kind = _word(message.kind, MSGID_CHARACTERS)
    return f"<{PRIORITY}>1 {at} {_word(host, HOST_CHARACTERS)} {APP} - {kind} - {message.text}".encode()


def counted(frames: Iterable[bytes]) -> bytes:
    """Return messages as a stream carries them, each behind its number of octets (RFC 6587, 3.4.1)."""
    return b"".join(b"%d %s" % (len(frame), frame) for frame in frames)


def _word(text: str, characters: int) -> str:
    return _NOT_PRINTABLE.sub("?", text)[:characters] or "-"


def _send_locally(path: str, messages: Sequence[Message]) -> None:
    """Send as syslog(3) does: what listens on /dev/log adds the host, and takes RFC 5424 for text."""
    with closing(_local_socket(path)) as local:
        end = b"\0" if local.type == socket.SOCK_STREAM else b""
        for message in messages:
            at = message.at.astimezone().strftime("%b %e %H:%M:%S")
            local.sendall(f"<{PRIORITY}>{at} {APP}: {message.text}".encode() + end)


def _local_socket(path: str) -> socket.socket:
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        local = socket.socket(socket.AF_UNIX, kind)
        local.settimeout(ANSWER_WITHIN_S)
        try:
            local.connect(path)
        except OSError as error:
            local.close()
            if kind == socket.SOCK_STREAM or error.errno != errno.EPROTOTYPE:
                raise
        else:
            return local
    raise AssertionError("the second kind has returned or raised")


def _send_datagrams(receiver: Receiver, found: Sequence[str], messages: Sequence[Message]) -> None:
    host = socket.gethostname()
    with closing(_connected(receiver, found, socket.SOCK_DGRAM)) as udp:
        for message in messages:
            udp.send(formatted(message, host))


def _send_by_stream(
    receiver: Receiver, found: Sequence[str], messages: Sequence[Message], certificates: Certificates
) -> None:
    host = socket.gethostname()
    plain = _connected(receiver, found, socket.SOCK_STREAM)
    with closing(plain), closing(_encrypted(plain, receiver, certificates)) as stream:
        stream.sendall(counted(formatted(message, host) for message in messages))
        _wait_for_end(stream)


def _connected(receiver: Receiver, found: Sequence[str], kind: socket.SocketKind) -> socket.socket:
    """Connect to the first address that answers; not by name, as that could lead elsewhere by now."""
    failed: OSError = OSError("its name has no address")
    for address in found[:TRIED_ADDRESSES]:
        family, _type, _protocol, _name, there = socket.getaddrinfo(address, receiver.port, type=kind)[0]
        one = socket.socket(family, kind)
        one.settimeout(ANSWER_WITHIN_S)
        try:
            one.connect(there)
        except OSError as error:
            one.close()
            failed = error
        else:
            return one
    raise failed


def _encrypted(plain: socket.socket, receiver: Receiver, certificates: Certificates) -> socket.socket:
    """Return the connection within TLS, or as it is where the receiver takes none."""
    if receiver.transport != Transport.TLS:
        return plain
    context = ssl.create_default_context(cafile=certificates.authorities or None)
    if certificates.own:
        context.load_cert_chain(certificates.own)
    return context.wrap_socket(plain, server_hostname=receiver.host)


def _wait_for_end(stream: socket.socket) -> None:
    """End this side, and wait until the receiver ended its own after that. Raises `SyslogFailed` where it does not."""
    try:
        if isinstance(stream, ssl.SSLSocket):
            stream = _without_tls(stream)
        elif _state(stream) == CLOSE_WAIT:
            raise SyslogFailed("the receiver ended the connection before it had all")
        stream.shutdown(socket.SHUT_WR)
        while stream.recv(4096):
            pass
    except TimeoutError:
        text = f"the receiver did not end the connection within {ANSWER_WITHIN_S} s after the last message"
        raise SyslogFailed(f"{text}: whether it has read all is unknown") from None
    _wait_for_acknowledgement(stream)


def _wait_for_acknowledgement(stream: socket.socket) -> None:
    """Wait until the receiver acknowledged this side's end, too: one that ended without reading resets instead."""
    poll(lambda: (_state(stream) not in (CLOSING, LAST_ACK), None), ANSWER_WITHIN_S)
    if error := stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(error, os.strerror(error))
    if _state(stream) in (CLOSING, LAST_ACK):
        raise SyslogFailed("the receiver did not acknowledge the last message")


def _state(stream: socket.socket) -> int:
    """Return the state of a TCP connection: the first member of tcp(7)'s tcp_info."""
    return stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]


def _without_tls(stream: ssl.SSLSocket) -> socket.socket:
    """Say that no more follows, and wait for the same; many receivers end the connection without saying so."""
    with suppress(ssl.SSLEOFError, ssl.SSLZeroReturnError):
        return stream.unwrap()
    return stream
