"""The desired state of a pooler that is not live yet: changed or leaving pools, and its own settings."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from itertools import groupby
from typing import Any, Self
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from panel.installation import pausing
from pools.models import Pool, Pooler, PoolerState, PoolSet, PoolState, Revision
from pools.poolers.base import Route

RETRY_UNREACHABLE_AFTER = timedelta(seconds=10)
REST = timedelta(seconds=60)  # after a cluster refused all logins
MOST_NAMED = 10
ROWS_AT_ONCE = 2000  # well within the 32,766 parameters that SQLite takes of one statement, and PostgreSQL 65,535
REFUSED = (PoolState.ROLLED_BACK, PoolState.FAILED, PoolState.DRIFTED)
ASKED = ("settings", "user_settings", "settings_state", "version", "spec_cause")


@dataclass(frozen=True)
class Wanted:
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
        for pool in pools.others:
            if pool.state == PoolState.PENDING and pool.route in busy:
                pool.state = PoolState.ROLLED_BACK  # in this attempt: its record stays pending
        return cls(pooler, pools, pooler.settings_state == PoolState.PENDING, live, busy)

    @property
    def leaving(self) -> list[Pool]:
        """Pools to remove."""
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


def unsettled(pooler: Pooler, busy: Collection[Route] = ()) -> int:
    """Count the pools that are not settled, without those on `busy` routes; the pooler's own settings count as one."""
    own = Pooler.objects.filter(pk=pooler.pk, settings_state=PoolState.PENDING).count()
    found = pooler.pools.unsettled()
    for target in {route[1] for route in busy}:
        clusters = [cluster for cluster, other in busy if other == target]
        found = found.exclude(cluster__in=clusters, target=target, removal_requested_at=None)
    return found.count() + own


def waiting_poolers() -> list[Pooler]:
    """List poolers with anything unsettled; after a pooler was down or a cluster full, only after a pause.

    A revision that a dead worker left behind counts, whether or not any change is pending, and waits for no cluster.
    """
    lately = timezone.now() - RETRY_UNREACHABLE_AFTER
    cut_short = Q(pk__in=Revision.objects.cut_short().values("pooler"))
    resting = Q(state=PoolerState.UNREACHABLE, checked_at__gt=lately) | Q(rests_until__gt=timezone.now()) & ~cut_short
    waiting = Q(pk__in=Pool.objects.unsettled().values("pooler")) | Q(settings_state=PoolState.PENDING) | cut_short
    return list(Pooler.objects.filter(waiting).exclude(resting).order_by("name"))


def why_nothing(pooler: Pooler) -> str:
    """Return why an apply would change nothing, in a sentence; empty where it has something to do."""
    if pausing.is_paused():
        return str(pausing.PAUSED)
    if pooler.settings_state == PoolState.PENDING or pooler.pools.unsettled().exists():
        return ""
    last = pooler.revisions.applied().first()
    if last is None:
        return _("nothing to apply: the panel has no pool on this pooler, so its files and backends stay as they are")
    return _("nothing to apply: revision %(number)s is live and has all changes") % {"number": last.number}


def try_again(pooler: Pooler) -> None:
    """Make everything that was rolled back or failed pending again."""
    pooler.pools.filter(state__in=REFUSED).update(state=PoolState.PENDING, state_reason="")
    own = Pooler.objects.filter(pk=pooler.pk, settings_state__in=REFUSED)
    own.update(settings_state=PoolState.PENDING, settings_reason="")


def set_reason(pooler: Pooler, reason: str) -> None:
    """Write the reason why everything unsettled waits."""
    pooler.pools.unsettled().update(state_reason=reason)
    Pooler.objects.filter(pk=pooler.pk, settings_state=PoolState.PENDING).update(settings_reason=reason)


def mark(pools: Iterable[Pool], **values: Any) -> None:
    """Write the same values to many pools, except those edited since they were read."""
    for version, group in groupby(sorted(pools, key=_version), key=_version):
        for keys in _batches(group):
            Pool.objects.filter(pk__in=keys, version=version).update(**values)


def forget(pools: Iterable[Pool]) -> None:
    """Delete the records of pools whose removal was verified."""
    for keys in _batches(pools):
        Pool.objects.filter(pk__in=keys).delete()


def _batches(pools: Iterable[Pool]) -> Iterator[list[UUID]]:
    keys = [pool.pk for pool in pools]
    for start in range(0, len(keys), ROWS_AT_ONCE):
        yield keys[start : start + ROWS_AT_ONCE]


def _version(pool: Pool) -> int:
    return pool.version


def _named(pools: Collection[Pool]) -> str:
    names = ", ".join(pool.name for pool in list(pools)[:MOST_NAMED])
    more = len(pools) - MOST_NAMED
    if more <= 0:
        return names
    return ngettext("%(names)s and %(more)d more", "%(names)s and %(more)d more", more) % {"names": names, "more": more}
