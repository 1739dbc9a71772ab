"""One attempt to apply: the desired state it takes up, and its outcomes."""

import logging
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any, Self
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.installation import pausing
from pools.deployment import retries
from pools.errors import LockLost
from pools.models import Pool, Pooler, PoolerState, PoolSet, PoolState, Revision, RevisionState, WaitingSetting
from pools.poolers.faults import ClusterBusy, Route
from pools.poolers.session import Draft, Session

logger = logging.getLogger(__name__)

RETRY_UNREACHABLE_AFTER = timedelta(seconds=4)  # `apply_what_waits` retries at each beat.
# pause after a cluster refused all logins; `retries.wake` ends it once the cluster accepts them
REST = timedelta(seconds=60)
MOST_NAMED = 10
ROWS_AT_ONCE = 2000  # well within the 32,766 parameters that SQLite takes of one statement, and PostgreSQL 65,535
REFUSED = (PoolState.ROLLED_BACK, PoolState.FAILED, PoolState.DRIFTED, PoolState.FAILING)
ASKED = ("settings", "user_settings", "settings_state", "version", "spec_cause", "desired_processes")
SHOWN_EVERY_S, ALIKE_EVERY_S = 0.25, 1.0
ALWAYS_WRITTEN = frozenset({"rendered", "writing", "rolling back"})  # they explain the death of a worker after them


@dataclass(frozen=True)
class DesiredState:
    """The changes that one attempt applies; `changed_settings`: whether the pooler's own settings are among them.

    `live` is the revision that was applied last; it may be megabytes long, and is read once for all attempts. `busy`
    are routes to servers that refuse logins: the live configuration of their pools stays.
    """

    pooler: Pooler
    pools: PoolSet
    changed_settings: bool
    live: Revision | None
    busy: set[Route] = field(default_factory=set)

    @classmethod
    def of(cls, pooler: Pooler, live: Revision | None, busy: set[Route] | None = None) -> Self:
        """Read the records of now, without pools on `busy` routes; an apply adds the busy routes that it finds."""
        pooler.refresh_from_db(fields=ASKED)
        busy = set() if busy is None else busy
        pools = PoolSet.of(pooler, live.specs.lines if live else {})
        for pool in pools.others if busy else ():
            if pool.state == PoolState.PENDING and pool.route in busy:
                pool.state = PoolState.ROLLED_BACK  # This holds for the attempt alone: the pool's record stays pending.
        return cls(pooler, pools, pooler.settings_state == PoolState.PENDING, live, busy)

    @property
    def leaving(self) -> list[Pool]:
        """Pools that this apply removes."""
        return self.pools.leaving

    @cached_property
    def pending(self) -> list[Pool]:
        """Pools to render anew."""
        return [pool for pool in self.pools.others if pool.state == PoolState.PENDING]

    @cached_property
    def changed(self) -> list[Pool]:
        """Pools to render anew or to remove."""
        return [*self.pending, *self.leaving]

    def same_settings(self) -> QuerySet[Pooler]:
        """Return the pooler, if it has not been edited since."""
        return Pooler.objects.filter(pk=self.pooler.pk, version=self.pooler.version)

    def __str__(self) -> str:
        parts = [_("settings to change")] if self.changed_settings else []
        parts += [_("pools to change: %(pools)s") % {"pools": _named(self.pending)}] if self.pending else []
        parts += [_("pools to remove: %(pools)s") % {"pools": _named(self.leaving)}] if self.leaving else []
        return "; ".join(parts) or _("nothing to change")


def count_unsettled(pooler: Pooler, busy: Collection[Route] = ()) -> int:
    """Count the pools that are not settled, without those on `busy` routes; the pooler's own settings count as one."""
    own = Pooler.objects.filter(pk=pooler.pk, settings_state=PoolState.PENDING).count()
    unsettled = pooler.pools.unsettled()
    for target in {route[1] for route in busy}:
        cluster_ids = [cluster_id for cluster_id, other in busy if other == target]
        unsettled = unsettled.exclude(cluster__in=cluster_ids, target=target, removal_requested_at=None)
    return unsettled.count() + own


def waiting_poolers() -> list[Pooler]:
    """List poolers with anything unsettled; after a pooler was down or a cluster full, only after a pause.

    A revision that a dead worker left behind counts, whether or not any change is pending, and waits for no cluster.
    """
    lately = timezone.now() - RETRY_UNREACHABLE_AFTER
    cut_short = Q(pk__in=Revision.objects.cut_short().values("pooler"))
    resting = Q(state=PoolerState.UNREACHABLE, checked_at__gt=lately) | Q(rests_until__gt=timezone.now()) & ~cut_short
    waiting = Q(pk__in=Pool.objects.unsettled().values("pooler")) | Q(settings_state=PoolState.PENDING) | cut_short
    return list(Pooler.objects.managed().filter(waiting).exclude(resting).order_by("name"))


def why_nothing_to_apply(pooler: Pooler) -> str:
    """Return why an apply would change nothing, in a sentence; empty where it has something to do."""
    if pausing.is_paused():
        return str(pausing.PAUSED)
    if pooler.settings_state == PoolState.PENDING or pooler.pools.unsettled().exists():
        return ""
    last = pooler.revisions.applied().first()
    if last is None:
        return _("nothing to apply: the panel has no pool on this pooler, so its files and backends stay as they are")
    return _("nothing to apply: revision %(number)s is live and has all changes") % {"number": last.number}


def reset_to_pending(pooler: Pooler) -> None:
    """Make everything that was rolled back, failed, drifted or is failing pending again."""
    pooler.pools.filter(state__in=REFUSED).update(state=PoolState.PENDING, state_reason="")
    own = Pooler.objects.filter(pk=pooler.pk, settings_state__in=REFUSED)
    own.update(settings_state=PoolState.PENDING, settings_reason="")


def set_reason(pooler: Pooler, reason: str) -> bool:
    """Write the reason why everything unsettled waits; return whether that is news."""
    waiting = pooler.pools.unsettled().exclude(state_reason=reason).update(state_reason=reason)
    settings = Pooler.objects.filter(pk=pooler.pk, settings_state=PoolState.PENDING).exclude(settings_reason=reason)
    return bool(settings.update(settings_reason=reason) + waiting)


def update_unedited(pools: Iterable[Pool], **values: Any) -> None:
    """Write the same values to many pools, except those edited since they were read."""
    version_of = attrgetter("version")
    for version, group in groupby(sorted(pools, key=version_of), key=version_of):
        for keys in _batches(group):
            Pool.objects.filter(pk__in=keys, version=version).update(**values)


def delete_removed(pools: Iterable[Pool]) -> None:
    """Delete the records of pools whose removal was verified."""
    for keys in _batches(pools):
        Pool.objects.filter(pk__in=keys).delete()


def _batches(pools: Iterable[Pool]) -> Iterator[list[UUID]]:
    keys = [pool.id for pool in pools]  # `pk` looks its field up anew for each
    for start in range(0, len(keys), ROWS_AT_ONCE):
        yield keys[start : start + ROWS_AT_ONCE]


def _named(pools: Collection[Pool]) -> str:
    names = ", ".join(pool.name for pool in list(pools)[:MOST_NAMED])
    more = len(pools) - MOST_NAMED
    if more <= 0:
        return names
    return ngettext("%(names)s and %(more)d more", "%(names)s and %(more)d more", more) % {"names": names, "more": more}


@dataclass
class Attempt:
    """A revision that was rendered from `wanted`."""

    wanted: DesiredState
    session: Session
    revision: Revision
    draft: Draft
    _shown_at: float = 0.0  # when a step was written to the database last
    _kinds: tuple[str, ...] = ()  # the last two words of steps

    @property
    def pooler(self) -> Pooler:
        """The pooler that gets the configuration."""
        return self.wanted.pooler

    def step(self, word: str, detail: str = "") -> None:
        """Record a step for the page, if this worker still holds the lock.

        Steps in quick succession, and many of one kind or of two in turn, such as logins and refusals, are written
        together: the row of a large revision is megabytes long.
        """
        alike = word in self._kinds
        self._kinds = (word, *(one for one in self._kinds if one != word))[:2]
        written = word in ALWAYS_WRITTEN or self._since_shown() > (ALIKE_EVERY_S if alike else SHOWN_EVERY_S)
        if written or not alike:
            self.renew()
        self.revision.note(word, detail, write=written)
        if written:
            self._shown_at = time.monotonic()
        logger.info("pooler %s %s: %s %s", self.pooler.pk, self.revision, word, detail)

    def _since_shown(self) -> float:
        return time.monotonic() - self._shown_at

    def renew(self) -> None:
        """Renew the lease; raises `LockLost`."""
        if not self.pooler.holds_apply_lock():
            raise LockLost(
                _("another worker took over pooler %(pooler)s during %(revision)s")
                % {"pooler": self.pooler, "revision": self.revision}
            )

    def settle(self, needs_restart: list[WaitingSetting]) -> None:
        """Mark everything as applied in one transaction. Pools edited since the attempt began stay pending."""
        self.renew()
        with _held(self.pooler):
            self.revision.finish(RevisionState.APPLIED)
            now = timezone.now()
            settled = {"state": PoolState.APPLIED, "state_reason": "", "applied_at": now, "proved_at": now}
            update_unedited(self.wanted.pending, **settled)
            if self.wanted.changed_settings:
                self.wanted.same_settings().update(settings_state=PoolState.APPLIED, settings_reason="")
            delete_removed(self.wanted.leaving)
            columns = {"needs_restart": needs_restart, "applied_processes": self.session.processes_read_back()}
            Pooler.objects.filter(pk=self.pooler.pk).update(**columns, drift=[], drift_seen_at=None)


@contextmanager
def _held(pooler: Pooler) -> Iterator[None]:
    """Write what an attempt ends with in one transaction, which holds the pooler and its pools."""
    with transaction.atomic():
        Pooler.objects.hold(pooler.pk)
        pooler.pools.all().hold()
        yield


def postpone(revision: Revision, fault: ClusterBusy, asked: DesiredState) -> None:
    """End the revision while servers are full or unreachable; the old one is live, their pools stay pending."""
    asked.busy.update(fault.reasons)
    with _held(asked.pooler):
        revision.finish(RevisionState.FAILED, _retried(str(fault)))
        revision.replace_its_like()
        for route, reason in fault.reasons.items():
            pools = (pool for pool in asked.pending if pool.route == route)
            update_unedited(pools, state_reason=_retried(reason))
        amid = retries.AWAY if fault.of_servers else ""
        Pooler.objects.filter(pk=asked.pooler.pk).update(rests_until=timezone.now() + REST, refused_amid=amid)


def _retried(reason: str) -> str:
    seconds = round(REST.total_seconds())
    return _("%(reason)s; retried every %(seconds)d s") % {"reason": reason, "seconds": seconds}


def refuse(revision: Revision, fault: Exception, asked: DesiredState) -> None:
    """End the revision and roll back the pools that caused the fault (else all); the old one is live."""
    if isinstance(fault, ClusterBusy):
        postpone(revision, fault, asked)
        return
    reasons: dict[UUID, str] = getattr(fault, "reasons", {})
    pools = [pool for pool in asked.changed if pool.pk in reasons]
    settings = asked.changed_settings and getattr(fault, "settings", False)
    if not pools and not settings:
        pools, settings = asked.changed, asked.changed_settings
    with _held(asked.pooler):
        revision.finish(RevisionState.ROLLED_BACK, str(fault))
        for reason, blamed in _by_reason(pools, reasons, str(fault)):
            mark_not_applied(asked, blamed, False, PoolState.ROLLED_BACK, reason)
        mark_not_applied(asked, [], settings, PoolState.ROLLED_BACK, str(fault))


def roll_back_pending(asked: DesiredState, reason: str) -> None:
    """Roll back all that is still pending, after too many attempts were refused."""
    mark_not_applied(asked, asked.changed, asked.changed_settings, PoolState.ROLLED_BACK, reason)


def mark_not_applied(
    asked: DesiredState, pools: Collection[Pool], settings: bool, state: PoolState, reason: str
) -> None:
    """Mark pools with the final state; cancel their removal, unless another pool has their name by now."""
    update_unedited(pools, state=state, state_reason=reason)
    if settings:
        asked.same_settings().update(settings_state=state, settings_reason=reason)
    leaving = [pool for pool in pools if pool.removal_requested_at is not None]
    names = set(asked.pooler.pools.wanted().values_list("name", flat=True)) if leaving else set()
    update_unedited((pool for pool in leaving if pool.name not in names), removal_requested_at=None)


def _by_reason(
    pools: Iterable[Pool], reasons: Mapping[UUID, str], otherwise: str
) -> Iterable[tuple[str, Collection[Pool]]]:
    by_reason: dict[str, list[Pool]] = defaultdict(list)
    for pool in pools:
        by_reason[reasons.get(pool.pk, otherwise)].append(pool)
    return by_reason.items()


def fail_interrupted_revisions(revisions: Iterable[Revision]) -> None:
    """End revisions that a dead worker left behind."""
    for revision in revisions:
        step = revision.steps[-1]["step"] if revision.steps else "drafted"
        reason = _("the worker died after the step %(step)r; the apply started over") % {"step": step}
        revision.finish(RevisionState.FAILED, reason)
