"""Finds what is no longer as it was applied: files changed by hand, an older file, a SET, a restart elsewhere."""

import logging
from collections.abc import Iterator
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from pools import routing
from pools.errors import PoolerUnreachable
from pools.models import Pool, Pooler, PoolerState, PoolState, Revision, RevisionState
from pools.poolers import KINDS
from pools.revisions import files, folders

logger = logging.getLogger(__name__)

PROVED = (PoolState.APPLIED, PoolState.DRIFTED)
LIVE = "live"  # where a difference is that stands in no file
MOST_KEPT = 50
Finding = dict[str, str]  # {"where": a file's name or LIVE, "what": sentence}


def comparable() -> QuerySet[Pooler]:
    """Every pooler that is online and has something applied."""
    applied = Revision.objects.filter(state=RevisionState.APPLIED).values("pooler")
    something = Q(pools__state__in=PROVED) | Q(settings_state__in=PROVED)
    return Pooler.objects.filter(something, state=PoolerState.ONLINE, pk__in=applied).distinct()


def look(pooler: Pooler) -> None:
    """Call drifted what the pooler or its folder has otherwise, and applied again what is right once more.

    Of the files of another generator's pooler, what that one found last stays.
    """
    at, last = _moment(pooler), folders.last_applied(pooler)
    if last is None or at is None:
        return
    kind, texts = KINDS[pooler.kind], last.files
    try:
        pools, program = kind.compare(pooler, texts), kind.compare_program(pooler, texts)
        restarts = _restarts_left(pooler)
    except PoolerUnreachable as error:
        logger.info("pooler %s was not compared: %s", pooler.pk, error)
        return
    changed = _changed_files(pooler, last) if routing.is_ours(pooler) else _found_by_its_generator(pooler)
    found = [*changed, *({"where": LIVE, "what": what} for what in [*pools.values(), *program])]
    if _moment(pooler) == at:  # else an apply came between, and what was seen is no drift
        _record_pools(pooler, pools)
        _record(pooler, found, program, restarts)


def _changed_files(pooler: Pooler, last: Revision) -> Iterator[Finding]:
    if not KINDS[pooler.kind].files:
        return
    try:
        texts = folders.on_disk(pooler)
    except files.UnsafeFolder as error:
        yield {"where": pooler.config_dir, "what": str(error)}
        return
    for name, what in folders.differences(pooler, texts, last).items():
        yield {"where": name, "what": what}


def _found_by_its_generator(pooler: Pooler) -> list[Finding]:
    """Only a worker that can read the folder can say anything of it, also that it is right again."""
    return [finding for finding in pooler.drift if finding["where"] != LIVE]


def _restarts_left(pooler: Pooler) -> list[dict[str, str]]:
    """The settings that still wait for a restart, with what is live of each now."""
    waiting = {one["name"]: one for one in pooler.needs_restart}
    rows = KINDS[pooler.kind].show(pooler, "config") if waiting else []
    live = {str(row.get("key")): str(row.get("value") or "") for row in rows}
    return [one for name, one in waiting.items() if live.get(name, one["live"]) == one["live"]]


def _record_pools(pooler: Pooler, faults: dict[UUID, str]) -> None:
    for pool in pooler.pools.filter(state__in=PROVED):
        state, reason = (PoolState.DRIFTED, faults[pool.pk]) if pool.pk in faults else (PoolState.APPLIED, "")
        if (pool.state, pool.state_reason) != (state, reason):
            logger.warning("pool %s of pooler %s is %s: %s", pool.pk, pooler.pk, state, reason)
            same = Pool.objects.filter(pk=pool.pk, version=pool.version, state=pool.state)
            same.update(state=state, state_reason=reason)


def _record(pooler: Pooler, found: list[Finding], program: list[str], restarts: list[dict[str, str]]) -> None:
    """`drift_seen_at` stays for as long as anything is otherwise."""
    seen_at = (pooler.drift_seen_at or timezone.now()) if found else None
    if (pooler.drift, pooler.needs_restart) != (found[:MOST_KEPT], restarts):
        logger.warning("pooler %s: %d differences from what was applied", pooler.pk, len(found))
    same = Pooler.objects.filter(pk=pooler.pk)
    same.update(drift=found[:MOST_KEPT], drift_seen_at=seen_at, needs_restart=restarts)
    state = PoolState.DRIFTED if program else PoolState.APPLIED
    same.filter(settings_state__in=PROVED).update(settings_state=state, settings_reason="; ".join(program))


def _moment(pooler: Pooler) -> tuple[object, ...] | None:
    """What changes with every apply; None while one is at work."""
    names = ["apply_token", "apply_lease_until", "drift", "drift_seen_at", "needs_restart"]
    pooler.refresh_from_db(fields=names)
    if pooler.apply_lease_until and pooler.apply_lease_until > timezone.now():
        return None
    return pooler.apply_token, pooler.revisions.values_list("pk", "state").first()
