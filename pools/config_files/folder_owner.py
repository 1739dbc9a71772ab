"""Which generator owns a pooler's folder, and when its worker last checked it: only that worker can report drift."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import OuterRef, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from pools.config_files import deliveries
from pools.models import Pooler, PoolState, Revision

TAKEN_UP_WITHIN = timedelta(minutes=1)
SILENT_AFTER = timedelta(minutes=2)  # four requested checks that did not happen


@dataclass(frozen=True)
class FolderOwner:
    """The generator that a pooler names, else the one that applied last (empty: none did, or it is not known).

    `last_seen_at` is None before the first apply.
    """

    generator: str = ""
    is_named: bool = False
    last_seen_at: datetime | None = None

    @property
    def is_here(self) -> bool:
        """True if this process has the folder, as far as is known."""
        return self.generator in ("", settings.GENERATOR)

    @property
    def silence_s(self) -> float:
        """Seconds since the last check of the folder."""
        return (timezone.now() - self.last_seen_at).total_seconds() if self.last_seen_at else 0.0

    @property
    def is_silent(self) -> bool:
        """True if requested checks don't happen."""
        return self.silence_s > SILENT_AFTER.total_seconds()

    @property
    def worker(self) -> str:
        """The generator that gets work on the folder; empty: any, as one that was not named may be gone for good."""
        return "" if self.is_silent and not self.is_named else self.generator

    @property
    def missed(self) -> str:
        """A sentence that names the worker that does not check the folder; empty while it is not silent."""
        if self.generator:
            return _(
                "No worker of generator %(generator)s checks its files, though a check is requested twice a minute, so "
                "it is unknown whether they are still as applied."
            ) % {"generator": self.generator}
        return _(
            "No worker that has its folder checks its files, though a check is requested twice a minute, so it is "
            "unknown whether they are still as applied."
        )

    @property
    def reason(self) -> str:
        """Why the folder is not checked, and the remedy."""
        if self.generator:
            return _("no worker of generator %(generator)s checks its files; make sure that it runs") % {
                "generator": self.generator
            }
        return _("no worker that has its folder checks its files; make sure that it runs")


def of(pooler: Pooler) -> FolderOwner:
    """Return the owner of one pooler's folder; an empty one where the pooler's record is gone."""
    return of_all([pooler]).get(pooler.pk, FolderOwner())


def of_all(poolers: Iterable[Pooler]) -> dict[UUID, FolderOwner]:
    """Return the owners of these poolers' folders by pooler id, in one query."""
    last = Revision.objects.applied().filter(pooler=OuterRef("pk"))
    rows = Pooler.objects.filter(pk__in=[pooler.pk for pooler in poolers]).annotate(
        applied_on=Subquery(last.values("generator")[:1]), applied_at=Subquery(last.values("finished_at")[:1])
    )
    columns = ("pk", "delivery", "generator", "applied_on", "applied_at", "files_checked_at", "apply_lease_until")
    return {pk: _owner(*found) for pk, *found in rows.values_list(*columns)}


def claim(revision: Revision, owner: FolderOwner) -> None:
    """Record this generator as the owner of the folder of an applied revision; the first one to do so wins."""
    Revision.objects.filter(pk=revision.pk, generator=owner.generator).update(generator=settings.GENERATOR)


def forget(pooler: Pooler) -> None:
    """Clear the owner: after a change of folder or address, the generator that applied last may not have it."""
    pooler.revisions.exclude(generator="").update(generator="")


def report_missing_workers(pooler: Pooler) -> None:
    """Set the reason of pools and settings whose apply no worker took within a minute; no-op while an apply runs."""
    now = timezone.now()
    lately = now - TAKEN_UP_WITHIN
    if pooler.is_being_applied():
        return
    reason = _("no worker of generator %(generator)s has taken it: make sure that it runs") % {
        "generator": of(pooler).generator
    }
    pooler.pools.unsettled().filter(state_reason="", updated_at__lt=lately).update(state_reason=reason)
    settings_wait = Pooler.objects.filter(pk=pooler.pk, settings_state=PoolState.PENDING, settings_reason="")
    settings_wait.filter(updated_at__lt=lately).update(settings_reason=reason)


def _owner(
    delivery: str,
    named: str,
    applied_on: str | None,
    applied_at: datetime | None,
    last_seen_at: datetime | None,
    lease_until: datetime | None,
) -> FolderOwner:
    now = timezone.now()
    times = [time for time in (applied_at, last_seen_at) if time]
    if times and lease_until and lease_until > now:  # During an apply no worker checks the folder.
        times.append(now)
    if not deliveries.DELIVERIES[delivery].needs_worker:  # any worker reaches it
        named, applied_on = "", ""
    return FolderOwner(named or applied_on or "", bool(named), max(times, default=None))
