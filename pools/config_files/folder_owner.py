"""Which generator has a pooler's folder, and when its worker looked there last: nobody else can tell of the files."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from pools.models import Pooler, PoolState, Revision

TAKEN_UP_WITHIN = timedelta(minutes=1)
SILENT_AFTER = timedelta(minutes=2)  # four looks that were asked for and did not come


@dataclass(frozen=True)
class FolderOwner:
    """The generator that a pooler names, else the one that applied last (empty: nobody did, or it is not known).

    `last_seen_at` is None before the first apply.
    """

    generator: str = ""
    is_named: bool = False
    last_seen_at: datetime | None = None

    @property
    def is_here(self) -> bool:
        """Whether this process is where the folder is, as far as is known."""
        return self.generator in ("", settings.GENERATOR)

    @property
    def silence_s(self) -> float:
        """How long nobody has looked, in seconds."""
        return (timezone.now() - self.last_seen_at).total_seconds() if self.last_seen_at else 0.0

    @property
    def is_silent(self) -> bool:
        """Whether the looks that are asked for don't come."""
        return self.silence_s > SILENT_AFTER.total_seconds()

    @property
    def worker(self) -> str:
        """The generator that is given work on the folder; empty: any, as one that nobody named may be gone for good."""
        return "" if self.is_silent and not self.is_named else self.generator

    @property
    def missed(self) -> str:
        """Who does not look, where it is silent."""
        whose = f"no worker of generator {self.generator}" if self.generator else "no worker that has its folder"
        return f"{whose} takes the look that is asked for twice a minute"

    @property
    def reason(self) -> str:
        """Why nobody looked, and what to do about it."""
        return f"{self.missed}: see whether it runs"


def of(pooler: Pooler) -> FolderOwner:
    """The keeper of one pooler's folder."""
    return of_all([pooler]).get(pooler.pk, FolderOwner())


def of_all(poolers: Iterable[Pooler]) -> dict[UUID, FolderOwner]:
    """The keepers of all these, in one query."""
    last = Revision.objects.applied().filter(pooler=OuterRef("pk"))
    rows = Pooler.objects.filter(pk__in=[pooler.pk for pooler in poolers]).annotate(
        applied_on=Subquery(last.values("generator")[:1]), applied_at=Subquery(last.values("finished_at")[:1])
    )
    columns = ("pk", "generator", "applied_on", "applied_at", "files_checked_at", "apply_lease_until")
    return {pk: _owner(*found) for pk, *found in rows.values_list(*columns)}


def take_over(revision: Revision, owner: FolderOwner) -> None:
    """This generator has the folder of what was applied last; the first to say so holds."""
    Revision.objects.filter(pk=revision.pk, generator=owner.generator).update(generator=settings.GENERATOR)


def forget(pooler: Pooler) -> None:
    """Its folder or address is another one, so whoever applied last may not have it."""
    pooler.revisions.exclude(generator="").update(generator="")


def report_missing_workers(pooler: Pooler) -> None:
    """Say of what waits for a worker of one generator that none took it up; an apply says what becomes of it."""
    now = timezone.now()
    lately = now - TAKEN_UP_WITHIN
    if Pooler.objects.filter(pk=pooler.pk, apply_lease_until__gt=now).exists():
        return
    reason = f"no worker of generator {of(pooler).generator} has taken it up: see whether it runs"
    pooler.pools.unsettled().filter(state_reason="", updated_at__lt=lately).update(state_reason=reason)
    settings_wait = Pooler.objects.filter(pk=pooler.pk, settings_state=PoolState.PENDING, settings_reason="")
    settings_wait.filter(updated_at__lt=lately).update(settings_reason=reason)


def _owner(
    named: str,
    applied_on: str | None,
    applied_at: datetime | None,
    last_seen_at: datetime | None,
    lease_until: datetime | None,
) -> FolderOwner:
    now = timezone.now()
    times = [time for time in (applied_at, last_seen_at) if time]
    if times and lease_until and lease_until > now:  # while it is applied nobody looks
        times.append(now)
    return FolderOwner(named or applied_on or "", bool(named), max(times, default=None))
