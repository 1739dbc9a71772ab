"""KILL_CLIENT: disconnects one client of a pool, and reads back that it is gone (PgBouncer 1.24 and later)."""

import logging

from django.db import models
from django.utils.translation import gettext as _

from core.audit.acts import subject_of
from core.audit.recording import attempt
from core.audit.tracking import ANNOUNCED
from core.lib import polling
from pools.console import commands
from pools.console.commands import Target
from pools.errors import ConsoleRefused, NotThere, PoolsError
from pools.poolers.admin_commands import Controls
from pools.poolers.pool_queue import PoolClient

logger = logging.getLogger(__name__)
READ_BACK_S = 5.0
ACTION = "pool.kill_client"
ANNOUNCED.add(ACTION)


def find(pool: Target, number: str, connected_at: str) -> PoolClient:
    """Return the client as SHOW CLIENTS has it now. Raises `NotThere`, `ConsoleRefused`, `PoolerUnreachable`."""
    with commands.controls_of(pool.pooler) as controls:
        return _found(controls, pool, number, connected_at)


def kill_client(pool: Target, number: str, connected_at: str, author: models.Model | None = None) -> str:
    """Disconnect one client and its server connection, and return a sentence that says so.

    `number` and `connected_at` are its id and connect_time in SHOW CLIENTS, where both still have to be the same.
    Raises `NotThere`, `ConsoleRefused`, `PoolerUnreachable`, `IllegalTransition`.
    """
    try:
        client = find(pool, number, connected_at)
    except PoolsError:
        with attempt(ACTION, subject_of(pool), number=number, connected_at=connected_at):
            raise
    logger.info("pool %s (%s): KILL_CLIENT %s by %s", pool.pk, pool, number, author)
    with attempt(ACTION, subject_of(pool), **_about(client)), commands.controls_of(pool.pooler) as controls:
        if not controls.kill_client(client):
            raise _gone(pool, number)
        if not polling.poll(lambda: _is_gone(controls, pool, client), READ_BACK_S):
            text = _("the console accepted KILL_CLIENT, but client %(number)s is still connected: check again")
            raise ConsoleRefused(text % {"number": number})
    text = _("Client %(number)s is disconnected from pool %(pool)s.")
    return text % {"number": number, "pool": pool}


def _about(client: PoolClient) -> dict[str, str]:
    identity = {"number": client.number, "connected_at": client.connected_at}
    return identity | {"user": client.user, "application": client.application, "address": client.address}


def _found(controls: Controls, pool: Target, number: str, connected_at: str) -> PoolClient:
    clients = controls.clients(pool.name)
    if clients and not any(one.number for one in clients):
        raise ConsoleRefused(_("PgBouncer can end a single client from release 1.24 on: terminate its session instead"))
    for one in clients:
        if (one.number, one.connected_at) == (number, connected_at):
            return one
    raise _gone(pool, number)


def _is_gone(controls: Controls, pool: Target, client: PoolClient) -> tuple[bool, bool]:
    known = client.number, client.connected_at
    is_gone = all((one.number, one.connected_at) != known for one in controls.clients(pool.name))
    return is_gone, is_gone


def _gone(pool: Target, number: str) -> NotThere:
    text = _("client %(number)s is no longer connected to pool %(pool)s: nothing was sent")
    return NotThere(text % {"number": number, "pool": pool})
