"""Tries the requested encryption towards servers by a login of the panel's own, before PgBouncer gets it."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from django.conf import settings

from pools.clusters import ca_files, connect, endpoints
from pools.clusters.endpoints import Endpoint
from pools.clusters.login_errors import Cause
from pools.clusters.topology import Address
from pools.errors import ClusterUnreachable
from pools.models import Pool
from pools.poolers.pgbouncer import global_settings, render
from pools.poolers.pgbouncer.config_builder import Drafting, text_of
from pools.poolers.pgbouncer.global_settings import SETTINGS
from pools.poolers.pgbouncer.preflight import PREFIX

MODE, AUTHORITY, CERTIFICATE, KEY = (f"server_tls_{part}" for part in ("sslmode", "ca_file", "cert_file", "key_file"))
NAMES = (MODE, AUTHORITY, CERTIFICATE, KEY)
VERIFYING = ("verify-ca", "verify-full")
WHERE_OFFERED = ("allow", "prefer")  # alike to PgBouncer, which asks each server for TLS and never tries both ways
# what a server, or the look at its certificate, can have against one encryption and not against another
ITS_FAULT = frozenset(
    {Cause.HBA, Cause.TLS_NOT_OFFERED, Cause.CERTIFICATE, Cause.CA, Cause.TLS, Cause.CLOSED, Cause.OTHER}
)


@dataclass(frozen=True)
class ServerTls:
    """How servers are logged in to: the mode, the texts of its files, and paths that can't be read from here."""

    sslmode: str
    authority: str = ""
    certificate: str = ""
    key: str = field(default="", repr=False)
    unread: tuple[str, ...] = ()


def desired(drafted: Drafting) -> ServerTls:
    """Return the encryption that the drafted files ask for."""
    own = render.own_keys(drafted.main, "pgbouncer")
    before = global_settings.written(drafted.settled.get(SETTINGS, ""))
    values = {}
    for name in NAMES:
        otherwise = (
            global_settings.default_of(name, drafted.version) if name in before else drafted.config.get(name, "")
        )
        values[name] = drafted.spec.lines.get(name, own.get(name, otherwise))
    return _of(values, drafted, drafted.texts)


def live(drafted: Drafting) -> ServerTls:
    """Return the encryption that SHOW CONFIG reports, with the files on disk."""
    texts = {name: text_of(drafted.disk, name) for name in global_settings.GIVEN.values()}
    return _of(drafted.config, drafted, texts)


@contextmanager
def connected(
    pool: Pool, role: str, password: str, at: Address, tls: ServerTls, folder: str
) -> Iterator[connect.Connection]:
    """Log in to the pool's database on one server with this encryption; raises `ClusterUnreachable`.

    A private key lies in `folder`, where it belongs, for as long as that takes.
    """
    endpoint = replace(endpoints.at(pool.cluster, at, pool.database), user=role, password=password)
    with _files(endpoint, tls, folder) as encrypted, _opened(encrypted, tls.sslmode) as connection:
        yield connection


def _of(values: Mapping[str, str], drafted: Drafting, texts: Mapping[str, str]) -> ServerTls:
    mode = values.get(MODE) or "disable"
    needed = [AUTHORITY] if mode in VERIFYING else []
    needed += [CERTIFICATE, KEY] if mode != "disable" and values.get(KEY) else []
    found = {name: _read(values.get(name, ""), drafted, texts) for name in needed}
    unread = tuple(f"{name} {values.get(name) or '–'}" for name, text in found.items() if not text)
    return ServerTls(mode, found.get(AUTHORITY, ""), found.get(CERTIFICATE, ""), found.get(KEY, ""), unread)


def _read(path: str, drafted: Drafting, texts: Mapping[str, str]) -> str:
    """Return the text of the panel's file, or the operator's where PgBouncer and the panel see the same paths."""
    where = PurePath(path)
    if str(where.parent) == drafted.folder and where.name in global_settings.GIVEN.values():
        return texts.get(where.name, "")
    if not where.is_absolute() or drafted.folder != drafted.pooler.config_dir:
        return ""
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError):
        return ""


@contextmanager
def _files(endpoint: Endpoint, tls: ServerTls, folder: str) -> Iterator[Endpoint]:
    """Write the texts to files for libpq, which would use those of the panel's home directory otherwise."""
    absent = str(settings.HOME / "no-certificate")
    authority = ca_files.path_of(tls.authority) if tls.authority else absent
    endpoint = replace(endpoint, sslrootcert=authority, sslcert=absent, sslkey=absent)
    if not tls.key:
        yield endpoint
        return
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=folder) as name:  # 0700
        certificate, key = Path(name, "certificate.pem"), Path(name, "key.pem")
        certificate.write_text(tls.certificate)
        key.touch(mode=0o600)
        key.write_text(tls.key)
        yield replace(endpoint, sslcert=str(certificate), sslkey=str(key))


def _opened(endpoint: Endpoint, sslmode: str) -> connect.Connection:
    if sslmode not in WHERE_OFFERED:
        return connect.connect_endpoint(replace(endpoint, sslmode=sslmode))
    try:
        return connect.connect_endpoint(replace(endpoint, sslmode="require"))
    except ClusterUnreachable as error:
        if error.cause != Cause.TLS_NOT_OFFERED:
            raise
    return connect.connect_endpoint(replace(endpoint, sslmode="disable"))
