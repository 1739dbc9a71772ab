"""Saves external endpoints: parsed from a URI, validated, and logged in to before they are saved."""

from typing import Any

import psycopg
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
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
    """Return `{host, port, database, user, password, sslmode}` of a URI as libpq reads it; raise `InvalidTarget`."""
    if not uri.startswith(("postgresql://", "postgres://")):
        raise InvalidTarget({"uri": [_("it begins with postgresql://, as in %(example)s") % {"example": EXAMPLE}]})
    try:
        found = {name: str(value) for name, value in conninfo_to_dict(uri).items()}
    except psycopg.ProgrammingError:  # its words may hold the password
        raise InvalidTarget(
            {"uri": [_("libpq can't read it; write it as in %(example)s") % {"example": EXAMPLE}]}
        ) from None
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
    problems = [
        _("it lacks the %(name)s") % {"name": name} for name in ("host", "user", "dbname") if not found.get(name)
    ]
    if unknown := sorted(set(found) - TAKEN):
        problems.append(_("leave out %(unknown)s: a run sets its own") % {"unknown": ", ".join(unknown)})
    if "," in found.get("host", "") + found.get("port", ""):
        problems.append(_("name one host: a run loads one endpoint"))
    elif not found.get("port", "5432").isdecimal() or not 0 < int(found.get("port", "5432")) < 65536:
        problems.append(_("%(port)s is no port: use 1 to 65535") % {"port": found["port"]})
    if found.get("sslmode", "prefer") not in SslMode.values:
        problems.append(
            _("sslmode %(sslmode)s is not taken: use %(values)s")
            % {"sslmode": repr(found["sslmode"]), "values": ", ".join(SslMode.values)}
        )
    long = [name for name in ("user", "dbname") if len(found.get(name, "").encode()) > IDENTIFIER_BYTES]
    text = _("the %(name)s is longer than %(most)s bytes")
    return problems + [text % {"name": name, "most": IDENTIFIER_BYTES} for name in long]


def uri_of(external: ExternalEndpoint) -> str:
    """Return the endpoint's URI without the password."""
    return connection_uri.render(external.endpoint.without_password())


def save(external: ExternalEndpoint, uri: str, *, console_password: str = "", **values: Any) -> ExternalEndpoint:
    """Create or change an endpoint; an empty password keeps the one stored for this login at this address.

    Logs in first. Raises `InvalidTarget` by field, `ClusterUnreachable` and `PoolerUnreachable`.
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
            {"name": [_("there is an endpoint %(name)s already: choose another name") % {"name": repr(external.name)}]}
        ) from None
    return external


def _passwords(external: ExternalEndpoint) -> tuple[dict[str, str], dict[str, str]]:
    """Return the stored passwords, each by what it is bound to."""
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
        raise InvalidTarget(
            {
                "sslrootcert": [
                    _("sslmode %(sslmode)s needs the certificate of an authority") % {"sslmode": external.sslmode}
                ]
            }
        )
    if external.cluster_database and external.cluster is None:
        raise InvalidTarget({"cluster_database": [_("choose the cluster that this database is on")]})
    try:
        connect.connect_endpoint(external.endpoint).close()
    except ClusterUnreachable as error:
        raise InvalidTarget({"uri": [error.detail_for(to_admin=True)]}) from None
    if console := external.console:
        try:
            KINDS[console.kind].sample(console)
        except PoolerUnreachable as error:
            raise InvalidTarget({"console_user": [str(error)]}) from None
