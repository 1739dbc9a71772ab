"""What all logins of the panel to poolers share: forbidden addresses, passwords in clear text, reasons of failures."""

import copy
from typing import Any

import psycopg
from django.utils.translation import gettext as _

from panel.lib import addresses
from pools.clusters import endpoints
from pools.config_files import deliveries
from pools.errors import PoolerUnreachable
from pools.models import Pooler

CLEARTEXT = ("plain", "pam", "ldap")  # these values of PgBouncer's auth_type ask clients for the password itself


def refuse_forbidden(pooler: Pooler, port: int) -> None:
    """Raise `PoolerUnreachable` where the pooler's host resolves to a forbidden address."""
    if reason := addresses.refusal(pooler.host, port):
        text = _("pooler %(pooler)s can't be reached: %(reason)s")
        raise PoolerUnreachable.at(pooler, text % {"pooler": pooler, "reason": reason})


def address_of(pooler: Pooler, other_host: str = "") -> dict[str, Any]:
    """Return libpq's host and port of a pooler, or of another address of it: its own, or those of a tunnel there.

    Raises `PoolerUnreachable`, also where its host resolves to a forbidden address.
    """
    if other_host:
        pooler = copy.copy(pooler)
        pooler.host = other_host
    host, port = deliveries.of(pooler).address_of(pooler, pooler.port)
    if host == pooler.host:
        refuse_forbidden(pooler, port)
    return {"host": host, "port": port}


def refusing_cleartext(pooler: Pooler) -> dict[str, Any]:
    """Refuse clear-text passwords, since no TLS proves the pooler, unless its own settings ask for them."""
    chosen = pooler.settings.get("auth_type") in CLEARTEXT or pooler.settings.get("allow_clear_text_frontend_auth")
    return endpoints.refusing_cleartext(bool(chosen))


def reason_of(error: psycopg.Error) -> str:
    """Return the server's or libpq's own words, on one line, without the address it repeats."""
    if "server requested a cleartext password" in str(error):
        return _(
            "it asks for the password in clear text: let it ask for scram-sha-256, or set POOLDECK_CLEARTEXT_PASSWORDS"
        )
    return " ".join(str(error).split()).removeprefix("connection failed: ") or type(error).__name__
