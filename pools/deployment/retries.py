"""Tries what was refused again by itself, as soon as what surrounded the refusal has changed.

A full disk, a broken line of the operator's, a database that is not there yet, a server that is down: none of them is a
fault of the pool. Their end is looked for every few seconds; the same refusal under the same circumstances is not
repeated.
"""

import hashlib
import logging
import os
from pathlib import Path
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from pools.errors import ClusterUnreachable, PoolsError
from pools.models import ClusterStatus, Pool, Pooler, PoolState
from pools.poolers import direct_login, driver
from pools.poolers.base import ClusterBusy

logger = logging.getLogger(__name__)

REFUSED = (PoolState.ROLLED_BACK, PoolState.FAILED)
READ_BY_POOLERS = (".ini", ".conf", ".cfg", ".txt", ".pem", ".crt", ".key")  # logs in the folder change all the time
SCARCE_BYTES = 1024 * 1024
FREED_BYTES = 8 * 1024
AWAY = "away"  # a server that an apply waits for did not answer
Facts = dict[UUID, tuple[dict[str, object], dict[str, object]]]  # cluster → its databases and roles, by name


def remember(pooler: Pooler) -> None:
    """Record what surrounds the refusals of an apply that has just ended, where there are any."""
    if _refused().filter(pk=pooler.pk).exists():
        Pooler.objects.filter(pk=pooler.pk).update(refused_amid=_circumstances(pooler))


def wake(pooler: Pooler) -> None:
    """Make what was refused pending again where its circumstances changed; end the rest of one whose servers answer."""
    if pooler.rests_until and pooler.rests_until > timezone.now() and pooler.refused_amid == AWAY:
        if not _any_away(pooler):
            Pooler.objects.filter(pk=pooler.pk).update(rests_until=None, refused_amid="")
    elif pooler.refused_amid not in ("", AWAY) and _differs(pooler.refused_amid, _circumstances(pooler)):
        logger.info("pooler %s: what was refused is tried again", pooler.pk)
        pooler.pools.filter(state__in=REFUSED).update(state=PoolState.PENDING, state_reason="")
        own = Pooler.objects.filter(pk=pooler.pk)
        own.filter(settings_state__in=REFUSED).update(settings_state=PoolState.PENDING, settings_reason="")
        own.update(refused_amid="")


def sleeping() -> list[Pooler]:
    """List the poolers on which something was refused, or whose applies wait for a server."""
    return list(Pooler.objects.exclude(refused_amid="").filter(Q(pk__in=_refused()) | Q(rests_until__isnull=False)))


def _refused() -> QuerySet[Pooler]:
    pools = Pool.objects.filter(state__in=REFUSED).values("pooler")
    return Pooler.objects.filter(Q(pk__in=pools) | Q(settings_state__in=REFUSED))


def _circumstances(pooler: Pooler) -> str:
    """Return a digest of the files that the pooler may read, of its release, and of what its pools need; and the room.

    The room on the disk is only told where it is scarce: its changes say nothing elsewhere.
    """
    found = repr((pooler.server_version, _files(pooler.config_dir), _needs(pooler)))
    return f"{hashlib.sha256(found.encode()).hexdigest()[:40]}:{_scarce_room(pooler.config_dir)}"


def _differs(before: str, now: str) -> bool:
    (digest, room), (digest_now, room_now) = before.split(":"), now.split(":")
    was_scarce = room != ""
    return digest != digest_now or (was_scarce and (room_now == "" or int(room_now) > int(room) + FREED_BYTES))


def _files(folder: str) -> list[tuple[object, ...]]:
    try:
        entries = sorted(os.scandir(folder or "/nowhere"), key=lambda entry: entry.name)
        stats = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith(READ_BY_POOLERS)]
    except OSError as error:
        return [(error.errno,)]
    parent = Path(folder).stat()
    access = (parent.st_uid, parent.st_mode)
    return [access, *((name, one.st_size, one.st_mtime_ns, one.st_uid, one.st_mode) for name, one in stats)]


def _scarce_room(folder: str) -> str:
    try:
        found = os.statvfs(folder or "/nowhere")
    except OSError:
        return ""
    free = found.f_bavail * found.f_frsize
    return str(free) if free < SCARCE_BYTES else ""


def _needs(pooler: Pooler) -> list[tuple[object, ...]]:
    """Return what the last checks found of the databases and roles that refused pools need."""
    pools = list(pooler.pools.filter(state__in=REFUSED).select_related("cluster").order_by("pk"))
    statuses = ClusterStatus.objects.in_bulk({pool.cluster_id for pool in pools})
    facts: Facts = {
        pk: ({str(one["name"]): True for one in status.databases}, {str(one["name"]): one for one in status.roles})
        for pk, status in statuses.items()
    }
    found: list[tuple[object, ...]] = []
    for pool in pools:
        databases, roles = facts.get(pool.cluster_id, ({}, {}))
        role = driver(pooler).probing_role(pool)
        found.append((pool.pk, databases.get(pool.database), roles.get(role)))
    return found


def _any_away(pooler: Pooler) -> bool:
    """Return whether a server that pending pools lead to is down or full, by a login of the pools' own role to each."""
    pending = pooler.pools.unsettled().select_related("cluster", "pooler")
    return any(_is_away(pool) for pool in {pool.route: pool for pool in pending}.values())


def _is_away(pool: Pool) -> bool:
    role = driver(pool.pooler).probing_role(pool)
    try:
        direct_login.connected(pool, role, pool.cluster.password_of(role) or "").close()
    except ClusterBusy:
        return True
    except ClusterUnreachable as error:
        return error.cause in direct_login.NOBODY_THERE
    except PoolsError:
        return False
    return False
