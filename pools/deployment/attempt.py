"""One attempt to apply a revision: the process that holds the pooler's lock for it, and its possible outcomes."""

import logging
import os
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from pools.deployment import desired_state
from pools.deployment.desired_state import Wanted
from pools.errors import PoolsError
from pools.models import Pool, Pooler, PoolState, Revision, RevisionState
from pools.poolers.base import ClusterBusy, Draft, Session

logger = logging.getLogger(__name__)

SHOWN_EVERY_S, ALIKE_EVERY_S = 0.25, 1.0
ALWAYS_WRITTEN = frozenset({"rendered", "writing", "rolling back"})  # they explain the death of a worker after them


class LockLost(PoolsError):
    """The lease ran out and another worker applies now; this one must not write any more."""


@dataclass
class Attempt:
    """A revision that was rendered from `wanted`."""

    wanted: Wanted
    session: Session
    revision: Revision
    draft: Draft
    _shown: tuple[str, float] = ("", 0.0)  # the last step in the database, and when it was written

    @property
    def pooler(self) -> Pooler:
        """Whose configuration it is."""
        return self.wanted.pooler

    def step(self, word: str, detail: str = "") -> None:
        """Record a step for the page, if this worker still holds the lock.

        Steps in quick succession, and many of one kind such as logins, are written together: the row of a large
        revision is megabytes long.
        """
        alike = word == self._shown[0]
        written = word in ALWAYS_WRITTEN or self._since_shown() > (ALIKE_EVERY_S if alike else SHOWN_EVERY_S)
        if written or not alike:
            self.renew()
        self.revision.note(word, detail, write=written)
        if written:
            self._shown = word, time.monotonic()
        logger.info("pooler %s %s: %s %s", self.pooler.pk, self.revision, word, detail)

    def _since_shown(self) -> float:
        return time.monotonic() - self._shown[1]

    def renew(self) -> None:
        """Renew the lease; raises `LockLost`."""
        if not self.pooler.holds_apply_lock():
            raise LockLost(
                _("another worker took over pooler %(pooler)s during %(revision)s")
                % {"pooler": self.pooler, "revision": self.revision}
            )

    def settle(self, needs_restart: list[dict[str, str]]) -> None:
        """Mark everything as applied in one transaction. Pools edited since the attempt began stay pending."""
        self.renew()
        with transaction.atomic():
            self.revision.finish(RevisionState.APPLIED)
            desired_state.mark(self.wanted.pending, state=PoolState.APPLIED, state_reason="")
            if self.wanted.changed_settings:
                self.wanted.same_settings().update(settings_state=PoolState.APPLIED, settings_reason="")
            desired_state.forget(self.wanted.leaving)
            Pooler.objects.filter(pk=self.pooler.pk).update(needs_restart=needs_restart, drift=[], drift_seen_at=None)


def hold(revision: Revision, fault: ClusterBusy, asked: Wanted) -> None:
    """End the revision while servers are full or unreachable; the old one is live, their pools stay pending."""
    asked.busy.update(fault.reasons)
    with transaction.atomic():
        revision.finish(RevisionState.FAILED, _retried(str(fault)))
        revision.replace_its_like()
        for route, reason in fault.reasons.items():
            pools = (pool for pool in asked.pending if pool.route == route)
            desired_state.mark(pools, state_reason=_retried(reason))
        Pooler.objects.filter(pk=asked.pooler.pk).update(rests_until=timezone.now() + desired_state.REST)


def _retried(reason: str) -> str:
    seconds = round(desired_state.REST.total_seconds())
    return _("%(reason)s; retried every %(seconds)d s") % {"reason": reason, "seconds": seconds}


def refuse(revision: Revision, fault: Exception, asked: Wanted) -> None:
    """End the revision and roll back the pools that caused the fault (else all); the old one is live."""
    if isinstance(fault, ClusterBusy):
        hold(revision, fault, asked)
        return
    reasons: dict[UUID, str] = getattr(fault, "reasons", {})
    pools = [pool for pool in asked.changed if pool.pk in reasons]
    settings = asked.changed_settings and getattr(fault, "settings", False)
    if not pools and not settings:
        pools, settings = asked.changed, asked.changed_settings
    with transaction.atomic():
        revision.finish(RevisionState.ROLLED_BACK, str(fault))
        for reason, blamed in _by_reason(pools, reasons, str(fault)):
            give_up(asked, blamed, False, PoolState.ROLLED_BACK, reason)
        give_up(asked, [], settings, PoolState.ROLLED_BACK, str(fault))


def give_up_rest(asked: Wanted, reason: str) -> None:
    """Roll back all that is still pending, after too many attempts were refused."""
    give_up(asked, asked.changed, asked.changed_settings, PoolState.ROLLED_BACK, reason)


def give_up(asked: Wanted, pools: Collection[Pool], settings: bool, state: PoolState, reason: str) -> None:
    """Mark pools with the final state; cancel their removal, unless another pool has their name by now."""
    desired_state.mark(pools, state=state, state_reason=reason)
    if settings:
        asked.same_settings().update(settings_state=state, settings_reason=reason)
    leaving = [pool for pool in pools if pool.removal_requested_at is not None]
    names = set(asked.pooler.pools.wanted().values_list("name", flat=True)) if leaving else set()
    desired_state.mark((pool for pool in leaving if pool.name not in names), removal_requested_at=None)


def _by_reason(
    pools: Iterable[Pool], reasons: Mapping[UUID, str], otherwise: str
) -> Iterable[tuple[str, Collection[Pool]]]:
    found: dict[str, list[Pool]] = defaultdict(list)
    for pool in pools:
        found[reasons.get(pool.pk, otherwise)].append(pool)
    return found.items()


def bury_the_dead(revisions: Iterable[Revision]) -> None:
    """End revisions that a dead worker left behind."""
    for revision in revisions:
        step = revision.steps[-1]["step"] if revision.steps else "drafted"
        reason = _("the worker died after the step %(step)r; the apply started over") % {"step": step}
        revision.finish(RevisionState.FAILED, reason)


PROC = Path("/proc")
STATE, STARTED = 0, 19  # of the fields after the name in /proc/PID/stat (proc(5): fields 3 and 22)
ENDED = ("Z", "X")


def this_lock_owner() -> str:
    """Return host, number and start of this process in one word; empty where the system does not report them."""
    where, fields = _where(), _stat(os.getpid())
    return f"{where}/{os.getpid()}/{fields[STARTED]}" if where and fields else ""


def is_owner_dead(holder: str) -> bool:
    """Return whether that process has certainly ended; False where that is unknown, as on another host."""
    where, _, rest = holder.partition("/")
    number, _, started = rest.partition("/")
    if not number or where != _where():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it belongs to another account
    fields = _stat(int(number))
    return bool(fields) and (fields[STATE] in ENDED or fields[STARTED] != started)


def _where() -> str:
    """Return this boot of this machine and the container's PID namespace; empty where the system hides them."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{(PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def _stat(number: int) -> list[str]:
    """Return the fields after the process's name (any text); empty for a process that can't be seen."""
    try:
        return (PROC / str(number) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
