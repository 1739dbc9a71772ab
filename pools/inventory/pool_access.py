"""Pools that are open to every user that their pooler knows: who would be refused, and how they are restricted."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from django.db import models, transaction
from django.utils.translation import gettext as _

from pools import task_queue
from pools.errors import InvalidValues
from pools.models import EVERYONE, Pool, Pooler, PoolState, Revision
from pools.poolers import KINDS, kinds_that

logger = logging.getLogger(__name__)
MOST_NAMED = 20
CONSOLE = "pgbouncer"  # PgBouncer's own user, of its console alone


@dataclass(frozen=True)
class OpenPool:
    """A pool that every known user may use as its fixed user; `connected` of those that would be refused are in it."""

    pool: Pool
    refused: list[str]
    connected: list[str]

    def __str__(self) -> str:
        params = {"pool": self.pool, "refused": ", ".join(self.refused[:MOST_NAMED]) or _("nobody")}
        if self.connected:
            text = _("%(pool)s would refuse %(refused)s, of whom %(connected)s are connected now")
            return text % {**params, "connected": ", ".join(self.connected[:MOST_NAMED])}
        return _("%(pool)s would refuse %(refused)s") % params


class NotConfirmed(InvalidValues):
    """Users would be refused, and nobody has said that they may be."""


def open_pools(pooler: Pooler) -> models.QuerySet[Pool]:
    """Return the pools of a fixed user that are open on purpose, or as they were before pools had users."""
    found = pooler.pools.wanted().filter(pooler__kind__in=kinds_that("admits_others"), allowed_users=EVERYONE)
    return found.exclude(user="").select_related("cluster")


def review(pooler: Pooler) -> list[OpenPool]:
    """Ask the pooler whom its open pools let in now: users that it knows, and clients. Raises `PoolerUnreachable`.

    Users that only a look-up knows are found where they are connected.
    """
    pools = list(open_pools(pooler))
    if not pools:
        return []
    kind = KINDS[pooler.kind]
    known = {str(row["name"]) for row in kind.show(pooler, "users")} - {CONSOLE}
    clients: dict[str, set[str]] = {}
    for row in kind.show(pooler, "clients"):
        clients.setdefault(str(row["database"]), set()).add(str(row["user"]))
    return [_reviewed(pool, known, clients) for pool in pools]


def _reviewed(pool: Pool, known: set[str], clients: Mapping[str, set[str]]) -> OpenPool:
    connected = clients.get(pool.name, set()) - {pool.user}
    return OpenPool(pool, sorted((known | connected) - {pool.user}), sorted(connected))


def obstacle(pooler: Pooler) -> str:
    """Return why the pooler's rules are not in use, as its last apply found; empty where they are or none is needed."""
    live = Revision.objects.live_on(pooler)
    return KINDS[pooler.kind].access_obstacle(live.files) if live else ""


def restrict(pooler: Pooler, confirmed: str, author: models.Model | None = None) -> list[Pool]:
    """Let only their own users in to the open pools, and request the apply; return these pools.

    `confirmed` is the pooler's name. Raises `NotConfirmed` with the users that would be refused, with nothing changed.
    """
    pooler.require_managed()
    found = review(pooler)
    if any(one.refused for one in found) and confirmed != pooler.name:
        listed = "; ".join(str(one) for one in found if one.refused)
        text = _("%(listed)s: give the pooler's name, %(pooler)s, to go on")
        raise NotConfirmed({"confirm": [text % {"listed": listed, "pooler": pooler.name}]})
    with transaction.atomic():
        Pooler.objects.hold(pooler.pk)
        pooler.pools.all().hold()
        for one in found:
            one.pool.edit(None, state=PoolState.PENDING, state_reason="", allowed_users="")
        task_queue.ask([pooler.pk], author)
    logger.info("pooler %s: %d pools are restricted to their own users by %s", pooler.pk, len(found), author)
    return [one.pool for one in found]
