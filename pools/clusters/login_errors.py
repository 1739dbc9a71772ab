"""Explains why a login failed, from the texts of libpq and the server."""

import logging
import re
from dataclasses import dataclass
from enum import StrEnum, auto

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.lib import private_text
from pools.clusters.endpoints import Endpoint

logger = logging.getLogger(__name__)


class Cause(StrEnum):
    """Why a login can fail, from the latest step of a login to the first."""

    BEHIND_THE_POOLER = auto()
    PASSWORD = auto()
    NO_PASSWORD = auto()
    CLEARTEXT = auto()
    NO_ROLE = auto()
    NO_LOGIN = auto()
    NO_DATABASE = auto()
    NO_PRIVILEGE = auto()
    TOO_MANY = auto()  # Connections of the role or to the database are used up.
    FULL = auto()  # Connections of all clients are used up.
    HBA = auto()
    NOT_READY = auto()
    TLS_NOT_OFFERED = auto()
    CERTIFICATE = auto()
    CA = auto()
    TLS = auto()
    NOT_POSTGRESQL = auto()
    TIMEOUT = auto()
    CLOSED = auto()
    REFUSED = auto()
    NO_ROUTE = auto()
    NO_SOCKET = auto()
    DNS = auto()
    FORBIDDEN = auto()
    OTHER = auto()


# Lines of whatever uses libpq: pgbench, sysbench, psycopg.
LIBPQS_FAILURE = re.compile(r"(.*\bconnection to server (?:at|on socket) .*? failed: )(.+)")
LIBPQS_HINT = re.compile(r"\s+Is the server running ")


@dataclass(frozen=True)
class Rule:
    """A pattern in the text, its cause, and the message (its placeholders: the endpoint, or a group of the pattern)."""

    sign: re.Pattern[str]
    cause: Cause
    sentence: str | Promise


def _rule(sign: str, cause: Cause, sentence: str | Promise) -> Rule:
    return Rule(re.compile(sign, re.IGNORECASE), cause, sentence)


# The order matters: libpq tries several addresses, and with sslmode=prefer each twice, and reports all attempts; the
# attempt that got farthest explains most.
RULES = (
    _rule(  # PgBouncer's own texts; they may quote the server's, which the rules below would misread
        r"server login has been failing|client_login_timeout|cannot connect to server|no working server connection",
        Cause.BEHIND_THE_POOLER,
        _(
            "the pooler at %(address)s can't log in to the server behind %(database)r: check its cluster, "
            "and the user and password of the pool"
        ),
    ),
    _rule(
        r"no password supplied|password is required",
        Cause.NO_PASSWORD,
        _("%(address)s asks user %(user)r for a password and none is stored: enter it"),
    ),
    _rule(
        r"server requested a cleartext password",
        Cause.CLEARTEXT,
        _(
            "%(address)s asks for the password of %(user)r in clear text, and its identity is not verified: let its "
            "pg_hba.conf ask for scram-sha-256, choose sslmode verify-full, or set POOLDECK_CLEARTEXT_PASSWORDS"
        ),
    ),
    _rule(
        r"(?:password|SASL|SCRAM) authentication failed|(?:SASL|SCRAM).*server signature",
        Cause.PASSWORD,
        _(
            "the password of user %(user)r was refused at %(address)s: correct the user or the password "
            "(PostgreSQL does not report which of them is wrong)"
        ),
    ),
    _rule(
        r'role "[^"]*" is not permitted to log in',
        Cause.NO_LOGIN,
        _("role %(user)r at %(address)s may not log in: give it LOGIN (ALTER ROLE … LOGIN) or choose another"),
    ),
    _rule(
        r'role ".*" does not exist|no such user',
        Cause.NO_ROLE,
        _("there is no role %(user)r at %(address)s: create it or correct the user"),
    ),
    _rule(
        r'database ".*" does not exist|no such database',
        Cause.NO_DATABASE,
        _("there is no database %(database)r at %(address)s: create it or correct the name"),
    ),
    _rule(
        r"permission denied for database",
        Cause.NO_PRIVILEGE,
        _(
            "user %(user)r may not connect to database %(database)r at %(address)s: GRANT CONNECT to it "
            "or choose another"
        ),
    ),
    _rule(
        r"is not currently accepting connections",
        Cause.NO_PRIVILEGE,
        _("database %(database)r at %(address)s takes no connections (ALLOW_CONNECTIONS false): choose another"),
    ),
    _rule(
        r"(?P<said>too many connections for (?:role|database) \"[^\"]*\")",
        Cause.TOO_MANY,
        _("%(address)s has %(said)s: raise its CONNECTION LIMIT or close some connections"),
    ),
    _rule(
        r"too many clients already|remaining connection slots are reserved|no more connections allowed",
        Cause.FULL,
        _("%(address)s has too many connections already: close some, raise max_connections, or make pools smaller"),
    ),
    _rule(
        r"no pg_hba\.conf entry for (?P<said>.*?)(?:\n|$)",
        Cause.HBA,
        _(
            "pg_hba.conf at %(address)s has no entry for %(said)s: add one and reload, or change the sslmode "
            "(%(sslmode)s now)"
        ),
    ),
    _rule(
        r"pg_hba\.conf rejects connection for (?P<said>.*?)(?:\n|$)",
        Cause.HBA,
        _("pg_hba.conf at %(address)s rejects %(said)s: change that entry and reload, or log in another way"),
    ),
    _rule(
        r"(?P<said>peer|ident|GSSAPI|LDAP|PAM|RADIUS|certificate) authentication failed",
        Cause.HBA,
        _(
            "%(said)s authentication of user %(user)r failed at %(address)s: let pg_hba.conf ask it for a password "
            "(scram-sha-256)"
        ),
    ),
    _rule(
        r"the database system is (?P<said>[^\n]+)",
        Cause.NOT_READY,
        _("the server at %(address)s is %(said)s: try again in a moment"),
    ),
    _rule(
        r"server does not support SSL",
        Cause.TLS_NOT_OFFERED,
        _(
            "%(address)s does not offer TLS and sslmode %(sslmode)s needs it: turn ssl on there, or choose prefer "
            "or disable"
        ),
    ),
    _rule(
        r"server certificate for \"(?P<said>[^\"]*)\".* does not match host name",
        Cause.CERTIFICATE,
        _(
            "the certificate of %(address)s is for %(said)r, not for %(host)r: use that name as the host, "
            "or choose verify-ca"
        ),
    ),
    _rule(
        r"certificate verify failed",
        Cause.CERTIFICATE,
        _(
            "the certificate of %(address)s is not signed by the given certificate authority: "
            "paste the authority that signed it, or choose sslmode require"
        ),
    ),
    _rule(
        r"could not read root certificate file|could not load root certificate|no certificate or crl found",
        Cause.CA,
        _("the certificate authority given for %(address)s can't be read: paste its PEM text again"),
    ),
    _rule(
        r"root certificate file .* does not exist|could not get home directory to locate root certificate",
        Cause.CA,
        _("sslmode %(sslmode)s needs the certificate authority of %(address)s: paste its PEM text, or choose require"),
    ),
    _rule(
        r"received invalid response|expected authentication request|invalid message length|"
        r"server sent an error response during SSL exchange|unsupported frontend protocol",
        Cause.NOT_POSTGRESQL,
        _("what listens at %(address)s does not speak PostgreSQL's protocol: correct the host or the port"),
    ),
    _rule(
        r"SSL error: (?P<said>[^\n]+)|SSL SYSCALL error: (?P<said_too>[^\n]+)",
        Cause.TLS,
        _("TLS with %(address)s failed (%(said)s): check its certificate, or choose another sslmode than %(sslmode)s"),
    ),
    _rule(
        r"timeout expired|timed out",
        Cause.TIMEOUT,
        _(
            "no answer from %(address)s within %(timeout)s s: check the address, the firewall and that the server "
            "is running"
        ),
    ),
    _rule(
        r"server closed the connection unexpectedly|connection reset by peer|broken pipe",
        Cause.CLOSED,
        _(
            "%(address)s closed the connection before the login was complete: see that server's log, "
            "and check that host and port are PostgreSQL's"
        ),
    ),
    _rule(
        r"no such file or directory",
        Cause.NO_SOCKET,
        _("there is no socket %(address)s: start the server, or correct the directory or the port"),
    ),
    _rule(
        r"connection refused",
        Cause.REFUSED,
        _("connection refused: nothing listens at %(address)s: start the server, or correct the host or the port"),
    ),
    _rule(
        r"no route to host|network is unreachable|host is unreachable|cannot assign requested address",
        Cause.NO_ROUTE,
        _("there is no route to %(address)s: check the address and the network"),
    ),
    _rule(
        r"failed to resolve host|could not translate host name|name or service not known|'idna' codec",
        Cause.DNS,
        _("the host name %(host)r was not found (DNS): correct it, or use the address"),
    ),
)


UNLISTED = _("login to %(address)s failed for an unlisted reason (server message: %(words)s)")
UNREACHABLE = _("the panel can't reach the server; an admin sees the reason")
WORDS_CHARACTERS = 500  # the part of an unknown server's message that is shown

# Causes that the server at an address determines, whoever logs in.
OF_THE_ADDRESS = {
    Cause.NOT_READY,
    Cause.TLS_NOT_OFFERED,
    Cause.CERTIFICATE,
    Cause.CA,
    Cause.TLS,
    Cause.NOT_POSTGRESQL,
    Cause.TIMEOUT,
    Cause.CLOSED,
    Cause.REFUSED,
    Cause.NO_ROUTE,
    Cause.NO_SOCKET,
    Cause.DNS,
    Cause.FORBIDDEN,
    Cause.CLEARTEXT,
    Cause.OTHER,
}
# Causes that concern a login registered with the address; the role of a pool is its users' business.
OF_THE_PANELS_LOGIN = OF_THE_ADDRESS | {Cause.PASSWORD, Cause.NO_PASSWORD, Cause.HBA, Cause.NO_LOGIN, Cause.NO_ROLE}


def explain(text: str, endpoint: Endpoint, timeout_s: int) -> tuple[Cause, str]:
    """Return the cause and a message with the remedy.

    Text that no rule matches is quoted, without the password: `readable` keeps it from all readers but admins.
    """
    if ruled := _rule_of(text):
        rule, match = ruled
        return rule.cause, str(rule.sentence) % _words(match, endpoint, timeout_s)
    words = one_line(text, endpoint)
    logger.warning("login to %s failed: %s", endpoint.address, words)
    return Cause.OTHER, str(UNLISTED) % {"address": endpoint.address, "words": words[:WORDS_CHARACTERS]}


def _rule_of(text: str) -> tuple[Rule, re.Match[str]] | None:
    return next(((rule, found) for rule in RULES if (found := rule.sign.search(text))), None)


def readable(cause: Cause, message: str, endpoint: Endpoint) -> str:
    """Return the message; as a private text where it tells what stands at the address.

    Else the panel would scan addresses for whoever may read of a login, but not register one: refused, silent, not
    PostgreSQL and a wrong password are one sentence to them.
    """
    if cause not in (OF_THE_PANELS_LOGIN if endpoint.is_panels_login else OF_THE_ADDRESS):
        return message
    return private_text.write(message, endpoint.unreachable or str(UNREACHABLE))


def program_line(line: str, endpoint: Endpoint) -> str:
    """Return a line that a load program printed; the reason of its failed login as `readable` has it."""
    if LIBPQS_HINT.match(line):
        return private_text.write(line, "")
    if not (failed := LIBPQS_FAILURE.match(line)):
        return line
    head, why = failed.groups()
    ruled = _rule_of(why)
    return head + readable(ruled[0].cause if ruled else Cause.OTHER, why, endpoint)


def _words(match: re.Match[str], endpoint: Endpoint, timeout_s: int) -> dict[str, object]:
    groups = [text for text in match.groupdict().values() if text]
    return {
        "address": endpoint.address,
        "host": endpoint.host,
        "user": endpoint.user,
        "database": endpoint.database,
        "sslmode": endpoint.sslmode,
        "timeout": timeout_s,
        "said": groups[0].strip() if groups else "",
    }


def one_line(text: str, endpoint: Endpoint) -> str:
    """Return the text in one line, with the password masked."""
    text = " ".join(text.split())
    return text.replace(endpoint.password, "••••") if endpoint.password else text
