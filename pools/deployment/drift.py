"""Finds drift: manual edits of files, an older file, a SET on the console, a restart on other files."""

import hashlib
import logging
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from pools.config_files import deliveries, folder_owner
from pools.deployment import live_files
from pools.errors import HostUnreachable, PoolerUnreachable
from pools.hosts.base import HostRefused, UnsafeFolder
from pools.models import (
    LIVE_STATES,
    Difference,
    Pool,
    Pooler,
    PoolerState,
    PoolState,
    Revision,
    RevisionState,
    WaitingSetting,
)
from pools.poolers import KINDS

logger = logging.getLogger(__name__)

PROVED = (PoolState.APPLIED, PoolState.DRIFTED)
LIVE = live_files.LIVE
MOST_KEPT = 50
_preflights: dict[UUID, tuple[str, str]] = {}  # pooler → digest of its files, and the error of a start on them
OPERATOR = "operator"


def comparable() -> QuerySet[Pooler]:
    """Return every managed pooler that has an applied revision."""
    applied = Revision.objects.filter(state=RevisionState.APPLIED).values("pooler")
    return Pooler.objects.managed().filter(pk__in=applied)


@dataclass(frozen=True)
class _Live:
    """The console's differences from what was applied, and the settings that still wait for a restart."""

    pools: dict[UUID, str]
    program: list[str]
    restarts: list[WaitingSetting]


def check(pooler: Pooler) -> None:
    """Mark what differs on the pooler or in its folder as drifted, and what no longer differs as applied.

    The last findings stay for what this worker can't check: the files in another generator's folder, and the state of
    a console that does not answer.
    """
    at, last = _apply_state(pooler), Revision.objects.live_on(pooler)
    if last is None or at is None or pooler.is_watched:
        return
    changed, live = _compare_files(pooler, last), _compare_console(pooler, last.files)
    if _apply_state(pooler) != at:  # an apply ran in between, so the differences are no drift
        return
    if live:
        _record_pools(pooler, live.pools)
        _record_program(pooler, live)
    if changed is not None:
        _record_reach(pooler, changed)
    _record(pooler, changed, live)


def _compare_files(pooler: Pooler, last: Revision) -> list[Difference] | None:
    """List the differences in its folder; None where this worker is not the one to report them.

    Where no generator is named, that is the one that applied last. Once it is silent another may take over that finds
    everything as it was applied: what else it finds may be a folder of the same name on its own machine.
    """
    if not deliveries.of(pooler).writes:
        return []  # nobody reads them: what PgBouncer made of them is compared
    owner = folder_owner.of(pooler)
    if owner.generator == settings.GENERATOR or not deliveries.of(pooler).needs_worker:
        return _changed_files(pooler, last)
    if owner.is_named or (owner.generator and not owner.is_silent):
        return None
    try:
        texts = live_files.on_disk(pooler)
    except UnsafeFolder:
        return None
    changed = live_files.differences(pooler, texts, last)
    if changed if owner.generator else not live_files.has_panel_part(pooler, texts):
        return None
    folder_owner.claim(last, owner)
    return _findings(changed)


def _compare_console(pooler: Pooler, texts: dict[str, str]) -> _Live | None:
    """Compare the console; None where it does not answer, or was down at the last check."""
    if pooler.state == PoolerState.UNREACHABLE:
        return None
    kind = KINDS[pooler.kind]
    try:
        return _Live(kind.compare(pooler, texts), list(kind.compare_program(pooler, texts)), _restarts_left(pooler))
    except (PoolerUnreachable, HostRefused) as error:
        logger.info("pooler %s was not compared: %s", pooler.pk, error)
        return None


def _changed_files(pooler: Pooler, last: Revision) -> list[Difference] | None:
    try:
        texts = live_files.on_disk(pooler)
    except UnsafeFolder as error:
        return [{"where": pooler.config_dir, "what": str(error)}]
    except HostUnreachable as error:
        logger.info("the files of pooler %s were not compared: %s", pooler.pk, error)
        return None
    return [*_findings(live_files.differences(pooler, texts, last)), *_pending_effects(pooler, texts)]


def _pending_effects(pooler: Pooler, texts: dict[str, str]) -> list[Difference]:
    """List the effects that an edit outside the panel's part will have at the next reload or start."""
    kind = KINDS[pooler.kind]
    digest = hashlib.sha256(repr(sorted(texts.items())).encode(errors="replace")).hexdigest()
    try:
        if _preflights.get(pooler.pk, ("",))[0] != digest:
            _preflights[pooler.pk] = (digest, kind.start_error(pooler, texts))
        if start_error := _preflights[pooler.pk][1]:
            params = {"kind": pooler.get_kind_display(), "error": start_error}
            return [_edit(kind.main_file, _("%(kind)s would not start: %(error)s") % params)]
        return [_edit(kind.main_file, effect) for effect in kind.changes(pooler, texts)]
    except (PoolerUnreachable, HostRefused):
        return [one for one in pooler.drift if one.get("by")]


def _edit(where: str, what: str) -> Difference:
    return {"where": where, "what": what, "by": OPERATOR}


def _findings(changed: dict[str, str]) -> list[Difference]:
    return [{"where": name, "what": what} for name, what in changed.items()]


def _restarts_left(pooler: Pooler) -> list[WaitingSetting]:
    """List the settings that still wait for a restart, each with its live value."""
    waiting = {one["name"]: one for one in pooler.needs_restart}
    rows = KINDS[pooler.kind].show(pooler, "config") if waiting else []
    live = {str(row.get("key") or row.get("item")): str(row.get("value") or "") for row in rows}
    return [one for name, one in waiting.items() if live.get(name, one["live"]) == one["live"]]


def _record_pools(pooler: Pooler, faults: dict[UUID, str]) -> None:
    for pool in pooler.pools.filter(state__in=LIVE_STATES):
        state, reason = (PoolState.DRIFTED, faults[pool.pk]) if pool.pk in faults else (PoolState.APPLIED, "")
        if pool.state == PoolState.FAILING and state == PoolState.APPLIED:
            continue  # Only a login through the pool ends the state failing.
        if (pool.state, pool.state_reason) != (state, reason):
            logger.warning("pool %s of pooler %s is %s: %s", pool.pk, pooler.pk, state, reason)
            same = Pool.objects.filter(pk=pool.pk, version=pool.version, state=pool.state)
            same.update(state=state, state_reason=reason)


def _record_reach(pooler: Pooler, changed: list[Difference]) -> None:
    """Record that the folder was read, which clears the error of an earlier check that could not read it."""
    same = Pooler.objects.filter(pk=pooler.pk)
    same.update(files_checked_at=timezone.now())
    if all(one["where"] != pooler.config_dir for one in changed):
        same.filter(state=PoolerState.ONLINE).exclude(error="").update(error="")


def _record_program(pooler: Pooler, live: _Live) -> None:
    state = PoolState.DRIFTED if live.program else PoolState.APPLIED
    proved = Pooler.objects.filter(pk=pooler.pk, settings_state__in=PROVED)
    proved.update(settings_state=state, settings_reason="; ".join(live.program))


def _record(pooler: Pooler, changed: list[Difference] | None, live: _Live | None) -> None:
    """Write the findings; `drift_seen_at` stays for as long as there are any."""
    if changed is None:
        changed = live_files.file_findings(pooler)
    live_findings = [one for one in pooler.drift if one["where"] == LIVE]
    if live:
        live_findings = [{"where": LIVE, "what": what} for what in [*live.pools.values(), *live.program]]
    found, restarts = [*changed, *live_findings][:MOST_KEPT], live.restarts if live else pooler.needs_restart
    if (pooler.drift, pooler.needs_restart) == (found, restarts):
        return
    logger.warning("pooler %s: %d differences from what was applied", pooler.pk, len(found))
    seen_at = (pooler.drift_seen_at or timezone.now()) if found else None
    Pooler.objects.filter(pk=pooler.pk).update(drift=found, drift_seen_at=seen_at, needs_restart=restarts)


def _apply_state(pooler: Pooler) -> tuple[object, ...] | None:
    """Return values that change with every apply; None while one is running."""
    names = ["apply_token", "drift", "drift_seen_at", "needs_restart", "state"]
    pooler.refresh_from_db(fields=names)
    if pooler.is_being_applied():
        return None
    return pooler.apply_token, pooler.revisions.values_list("pk", "state").first()
