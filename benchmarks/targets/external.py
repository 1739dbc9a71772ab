"""Saves external endpoints: parsed from a URI, validated, and logged in to before they are saved."""

from dataclasses import replace
from typing import Required, TypedDict, Unpack
from urllib.parse import parse_qsl

import psycopg
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from psycopg.conninfo import conninfo_to_dict

from benchmarks.errors import InvalidTarget
from benchmarks.models import ExternalEndpoint
from core.lib import addresses
from pools.clusters import ca_files, connect
from pools.connection_strings import uri as connection_uri
from pools.errors import ClusterUnreachable, PoolerUnreachable
from pools.models import Cluster, SslMode, identifiers
from pools.poolers import KINDS

EXAMPLE = "postgresql://user:password@host:6432/database?sslmode=require"
TAKEN = {"host", "port", "dbname", "user", "password", "sslmode"}
# Words of libpq 14 and later, and of all load programs at hand, that a run can have as well as not.
TAKEN_ALONG = (
    "channel_binding",
    "client_encoding",
    "gssencmode",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslsni",
    "target_session_attrs",
)
_NAMED = gettext_lazy("a run names its own sessions, by which the panel finds them")
_TIMED = gettext_lazy("the panel and its load programs set their own")
_FILE = gettext_lazy("it names a file, which a generator's host may not have")
REFUSED_BECAUSE = {
    "application_name": _NAMED,
    "fallback_application_name": _NAMED,
    "connect_timeout": _TIMED,
    "keepalives": _TIMED,
    "keepalives_count": _TIMED,
    "keepalives_idle": _TIMED,
    "keepalives_interval": _TIMED,
    "tcp_user_timeout": _TIMED,
    "options": gettext_lazy("a run's settings come from its settings profile, and poolers refuse it"),
    "hostaddr": gettext_lazy("give the address as the host"),
    "replication": gettext_lazy("a replication session takes no load"),
    "sslrootcert": gettext_lazy("paste the certificate into its own field"),
    "passfile": gettext_lazy("give the password in the URI"),
    **dict.fromkeys(("service", "servicefile", "sslcert", "sslcrl", "sslcrldir", "sslkey", "sslpassword"), _FILE),
}
_UNKNOWN_TO_SOME = gettext_lazy("not every load program's libpq knows it")
VERIFYING = (SslMode.VERIFY_CA, SslMode.VERIFY_FULL)
IDENTIFIER_BYTES = 63


class UriParts(TypedDict):
    """The login in a URI; the password is empty where it has none, `parameters` are of `TAKEN_ALONG`."""

    host: str
    port: int
    database: str
    user: str
    password: str
    sslmode: str
    parameters: dict[str, str]


class EndpointColumns(TypedDict, total=False):
    """The columns of an external endpoint that are given beside its URI."""

    name: str
    pooled_by: str
    sslrootcert: str
    cluster: Cluster | None
    cluster_database: str
    console_user: str


class ConsoleLogin(TypedDict, total=False):
    """A login of the endpoint's console."""

    console_user: str
    console_password: str


class EndpointValues(EndpointColumns, total=False):
    """The validated input of forms and API clients about an external endpoint."""

    uri: Required[str]
    console_password: str


def read_uri(uri: str) -> UriParts:
    """Return the login in a URI as libpq reads it; raise `InvalidTarget`."""
    if not uri.startswith(("postgresql://", "postgres://")):
        raise InvalidTarget({"uri": [_("it begins with postgresql://, as in %(example)s") % {"example": EXAMPLE}]})
    try:
        found = {name: str(value) for name, value in conninfo_to_dict(uri).items()}
    except psycopg.ProgrammingError:  # its words may hold the password
        raise InvalidTarget({"uri": [_why_unreadable(uri)]}) from None
    if problems := _problems(found):
        raise InvalidTarget({"uri": problems})
    return {
        "host": found["host"],
        "port": int(found.get("port", "5432")),
        "database": found["dbname"],
        "user": found["user"],
        "password": found.get("password", ""),
        "sslmode": found.get("sslmode", SslMode.PREFER.value),
        "parameters": {name: found[name] for name in TAKEN_ALONG if name in found},
    }


def _why_unreadable(uri: str) -> str:
    """Name the words of the URI that are none of libpq's, as another driver's are; else show how one is written."""
    known = {option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults()}
    strange = sorted({name for name, _value in parse_qsl(uri.partition("?")[2], keep_blank_values=True)} - known)
    if strange:
        return _("libpq does not know %(names)s: leave it out") % {"names": ", ".join(strange)}
    return _("libpq can't read it; write it as in %(example)s") % {"example": EXAMPLE}


def _problems(found: dict[str, str]) -> list[str]:
    problems = [
        _("it lacks the %(name)s") % {"name": name} for name in ("host", "user", "dbname") if not found.get(name)
    ]
    for name in sorted(set(found) - TAKEN - set(TAKEN_ALONG)):
        because = REFUSED_BECAUSE.get(name, _UNKNOWN_TO_SOME)
        problems.append(_("leave out %(name)s: %(because)s") % {"name": name, "because": because})
    if (host := found.get("host", "")) and "," not in host and (problem := identifiers.host_problem(host)):
        problems.append(problem)
    if "," in found.get("host", "") + found.get("port", ""):
        problems.append(_("name one host: a run loads one endpoint"))
    elif not found.get("port", "5432").isdecimal() or not 0 < int(found.get("port", "5432")) < 65536:
        problems.append(_("%(port)s is not a port: enter a number from 1 to 65535") % {"port": found["port"]})
    if found.get("sslmode", "prefer") not in SslMode.values:
        problems.append(
            _("sslmode %(sslmode)s is not taken: use %(values)s")
            % {"sslmode": repr(found["sslmode"]), "values": ", ".join(SslMode.values)}
        )
    long = [name for name in ("user", "dbname") if len(found.get(name, "").encode()) > IDENTIFIER_BYTES]
    text = _("the %(name)s is longer than %(most)s bytes")
    return problems + [text % {"name": name, "most": IDENTIFIER_BYTES} for name in long]


def uri_of(external: ExternalEndpoint) -> str:
    """Return the endpoint's URI without the password, and without the certificate's file, which `read_uri` refuses."""
    return connection_uri.render(replace(external.endpoint.without_password(), sslrootcert=""))


def save(
    external: ExternalEndpoint, uri: str, *, console_password: str = "", **values: Unpack[EndpointColumns]
) -> ExternalEndpoint:
    """Create or change an endpoint as `tried` does, and keep it."""
    return keep(tried(external, uri, console_password=console_password, **values))


def tried(
    external: ExternalEndpoint, uri: str, *, console_password: str = "", **values: Unpack[EndpointColumns]
) -> ExternalEndpoint:
    """Return the endpoint with these values after a login, not saved yet; `keep` does that.

    An empty password keeps the one stored for this login at this address. Raises `InvalidTarget` by field,
    `ClusterUnreachable` and `PoolerUnreachable`.
    """
    known, known_console = _passwords(external)
    login = read_uri(uri)
    for name, value in {**login, **values}.items():
        if name != "password":  # bound to the login, which has to be complete first
            setattr(external, name, value)
    external.password = login["password"] or known.get(external.secret_owner(external.user), "")
    owner = external.secret_owner(f"console {external.console_user}")
    external.console_password = console_password or known_console.get(owner, "")
    _check(external)
    return external


def keep(external: ExternalEndpoint) -> ExternalEndpoint:
    """Save an endpoint that was tried. Raises `InvalidTarget` where another has its name."""
    try:
        with transaction.atomic():
            external.save()
    except IntegrityError:
        raise InvalidTarget(
            {"name": [_("the name %(name)r is taken: choose another name") % {"name": external.name}]}
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
        raise InvalidTarget({"uri": [str(error)]}) from None
    if console := external.console:
        try:
            KINDS[console.kind].sample(console)
        except PoolerUnreachable as error:
            raise InvalidTarget({"console_user": [str(error)]}) from None
