"""The certificate that a PgBouncer presents to its clients, compared with the one that it was given."""

import errno
import os
import socket
import ssl
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePosixPath

from django.utils.translation import gettext as _

from pools.hosts.keys import socket_path
from pools.models import Pooler
from pools.poolers.pgbouncer.render import text_of
from pools.poolers.pooler_login import connected
from pools.poolers.session import Files

TIMEOUT_S = 5
SSL_REQUEST = struct.pack("!ii", 8, 80877103)  # PostgreSQL's protocol, "SSLRequest"


def given(contents: Files, settings: Mapping[str, str]) -> str:
    """Return the given certificate that clients must receive; empty for none."""
    if settings.get("client_tls_sslmode") in (None, "disable"):
        return ""
    return text_of(contents, PurePosixPath(settings.get("client_tls_cert_file", "")).name)


def faults(pooler: Pooler, pem: str) -> list[str]:
    """List why the pooler does not present the first certificate of this text."""
    if pooler.host.startswith(("/", "@")):
        return []  # a socket has no TLS
    try:
        certificate = connected(pooler, lambda address: _presented(**address))
    except OSError as error:
        return [_("the pooler does not offer an encrypted connection: %(error)s") % {"error": error}]
    if certificate is None:
        return [_("the pooler does not offer an encrypted connection")]
    if certificate == _first_certificate(pem):
        return []
    return [_("the pooler presents another certificate than the given one to clients")]


def _presented(host: str, port: int) -> bytes | None:
    """Return the certificate of an encrypted connection, in DER; None where the pooler offers no encryption.

    Raises `OSError`, `ConnectionResetError` for a connection that ends without an answer.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # it is compared, byte for byte
    with _connect(host, port) as connection:
        connection.sendall(SSL_REQUEST)
        answer = connection.recv(1)
        if not answer:
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
        if answer != b"S":
            return None
        with context.wrap_socket(connection) as encrypted:
            der = encrypted.getpeercert(binary_form=True)
            with suppress(OSError):
                encrypted.unwrap()
            return der


def _connect(host: str, port: int) -> socket.socket:
    """Connect to the pooler, or to the socket of a tunnel that leads there."""
    if not host.startswith("/"):
        return socket.create_connection((host, port), timeout=TIMEOUT_S)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(TIMEOUT_S)
    try:
        connection.connect(socket_path(host, port))
    except OSError:
        connection.close()
        raise
    return connection


def _first_certificate(pem: str) -> bytes:
    begin = pem.index("-----BEGIN CERTIFICATE-----")
    end = pem.index("-----END CERTIFICATE-----", begin) + len("-----END CERTIFICATE-----")
    return ssl.PEM_cert_to_DER_cert(pem[begin:end])
