"""Keeps external endpoints: read from a URI, judged, and logged in to before they are saved."""

from typing import Any

import psycopg
from django.db import IntegrityError, transaction
from psycopg.conninfo import conninfo_to_dict

from benchmarks.errors import InvalidTarget
from benchmarks.models import ExternalEndpoint
from panel.lib import addresses
from pools.clusters import ca_files, connect
from pools.connection_strings import uri as connection_uri
from pools.errors import ClusterUnreachable, PoolerUnreachable
from pools.models import SslMode
from pools.poolers import KINDS

EXAMPLE = "postgresql://user:password@host:6432/database?sslmode=require"
TAKEN = {"host", "port", "dbname", "user", "password", "sslmode"}
VERIFYING = (SslMode.VERIFY_CA, SslMode.VERIFY_FULL)
IDENTIFIER_BYTES = 63


def read_uri(uri: str) -> dict[str, Any]:
    """`{host, port, database, user, password, sslmode}` of a URI as libpq takes it; raises `InvalidTarget`."""
    if not uri.startswith(("postgresql://", "postgres://")):
        raise InvalidTarget({"uri": [f"it begins with postgresql://, as in {EXAMPLE}"]})
    try:
        found = {name: str(value) for name, value in conninfo_to_dict(uri).items()}
    except psycopg.ProgrammingError:  # its words may hold the password
        raise InvalidTarget({"uri": [f"libpq can't read it; write it as in {EXAMPLE}"]}) from None
    if problems := _problems(found):
        raise InvalidTarget({"uri": problems})
    return {
        "host": found["host"],
        "port": int(found.get("port", "5432")),
        "database": found["dbname"],
        "user": found["user"],
        "password": found.get("password", ""),
        "sslmode": found.get("sslmode", SslMode.PREFER.value),
    }


def _problems(found: dict[str, str]) -> list[str]:
    problems = [f"it lacks the {name}" for name in ("host", "user", "dbname") if not found.get(name)]
    if unknown := sorted(set(found) - TAKEN):
        problems.append(f"leave out {', '.join(unknown)}: a run sets its own")
    if "," in found.get("host", "") + found.get("port", ""):
        problems.append("name one host: a run loads one endpoint")
    elif not found.get("port", "5432").isdecimal() or not 0 < int(found.get("port", "5432")) < 65536:
        problems.append(f"{found['port']} is no port: use 1 to 65535")
    if found.get("sslmode", "prefer") not in SslMode.values:
        problems.append(f"sslmode {found['sslmode']!r} is not taken: use {', '.join(SslMode.values)}")
    long = [name for name in ("user", "dbname") if len(found.get(name, "").encode()) > IDENTIFIER_BYTES]
    return problems + [f"the {name} is longer than {IDENTIFIER_BYTES} bytes" for name in long]


def uri_of(external: ExternalEndpoint) -> str:
    """Its URI without the password."""
    return connection_uri.render(external.endpoint.without_password())


def save(external: ExternalEndpoint, uri: str, *, console_password: str = "", **values: Any) -> ExternalEndpoint:
    """Make or change one; an empty password keeps the one that is known for this login at this address.

    It is logged in to first. Raises `InvalidTarget` by field, `ClusterUnreachable` and `PoolerUnreachable`.
    """
    known, known_console = _passwords(external)
    login = read_uri(uri)
    password = login.pop("password")
    for name, value in (login | values).items():
        setattr(external, name, value)
    external.password = password or known.get(external.secret_owner(external.user), "")
    owner = external.secret_owner(f"console {external.console_user}")
    external.console_password = console_password or known_console.get(owner, "")
    _check(external)
    try:
        with transaction.atomic():
            external.save()
    except IntegrityError:
        raise InvalidTarget(
            {"name": [f"there is an endpoint {external.name!r} already: choose another name"]}
        ) from None
    return external


def _passwords(external: ExternalEndpoint) -> tuple[dict[str, str], dict[str, str]]:
    """Those that are stored, each by what it is bound to."""
    if external._state.adding:
        return {}, {}
    console_owner = external.secret_owner(f"console {external.console_user}")
    return {external.secret_owner(external.user): external.password}, {console_owner: external.console_password}


def _check(external: ExternalEndpoint) -> None:
    if refusal := addresses.refusal(external.host, external.port):
        raise InvalidTarget({"uri": [refusal]})
    if external.sslrootcert and (fault := ca_files.problem(external.sslrootcert)):
        raise InvalidTarget({"sslrootcert": [fault]})
    if external.sslmode in VERIFYING and not external.sslrootcert:
        raise InvalidTarget({"sslrootcert": [f"sslmode {external.sslmode} needs the certificate of an authority"]})
    if external.cluster_database and external.cluster is None:
        raise InvalidTarget({"cluster_database": ["choose the cluster that this database is on"]})
    try:
        connect.connect_endpoint(external.endpoint).close()
    except ClusterUnreachable as error:
        raise InvalidTarget({"uri": [error.detail_for(to_admin=True)]}) from None
    if console := external.console:
        try:
            KINDS[console.kind].sample(console)
        except PoolerUnreachable as error:
            raise InvalidTarget({"console_user": [str(error)]}) from None
