"""One revision on its way, and the ends it can come to."""

import logging
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from pools.apply import wanted
from pools.apply.wanted import Wanted
from pools.errors import PoolsError
from pools.models import Pool, Pooler, PoolState, Revision, RevisionState
from pools.poolers.kind import Draft, Session

logger = logging.getLogger(__name__)

SHOWN_EVERY_S = 1.0


class LockLost(PoolsError):
    """The lease ran out and another worker applies now; this one must not write any more."""


@dataclass
class Attempt:
    """A revision that was rendered from `wanted`."""

    wanted: Wanted
    session: Session
    revision: Revision
    draft: Draft
    _shown: tuple[str, float] = ("", 0.0)  # the last step in the database, and when it came there

    @property
    def pooler(self) -> Pooler:
        """Whose configuration it is."""
        return self.wanted.pooler

    def step(self, word: str, detail: str = "") -> None:
        """Note a step for the page, if this worker may still act.

        Of many alike, such as logins, some are written together: the row of a large revision is megabytes long.
        """
        self.renew()
        now = time.monotonic()
        alike_lately = word == self._shown[0] and now - self._shown[1] < SHOWN_EVERY_S
        self.revision.note(word, detail, write=not alike_lately)
        if not alike_lately:
            self._shown = word, now
        logger.info("pooler %s %s: %s %s", self.pooler.pk, self.revision, word, detail)

    def renew(self) -> None:
        """Keep the lease; raises `LockLost`."""
        if not self.pooler.holds_apply_lock():
            raise LockLost(f"another worker took over pooler {self.pooler} during {self.revision}")

    def settle(self, needs_restart: list[dict[str, str]]) -> None:
        """Everything was proved: say so, at once for all. What was edited meanwhile stays pending."""
        self.renew()
        with transaction.atomic():
            self.revision.finish(RevisionState.APPLIED)
            wanted.mark(self.wanted.pending, state=PoolState.APPLIED, state_reason="")
            if self.wanted.changed_settings:
                self.wanted.same_settings().update(settings_state=PoolState.APPLIED, settings_reason="")
            wanted.forget(self.wanted.leaving)
            Pooler.objects.filter(pk=self.pooler.pk).update(needs_restart=needs_restart, drift=[], drift_seen_at=None)


def refuse(revision: Revision, fault: Exception, asked: Wanted) -> None:
    """The old configuration is live: end the revision, and the wishes that are to blame (else all of them)."""
    blamed: frozenset[UUID] = getattr(fault, "pools", frozenset())
    pools = [pool for pool in asked.changed if pool.pk in blamed]
    settings = asked.changed_settings and getattr(fault, "settings", False)
    if not pools and not settings:
        pools, settings = asked.changed, asked.changed_settings
    with transaction.atomic():
        revision.finish(RevisionState.ROLLED_BACK, str(fault))
        give_up(asked, pools, settings, PoolState.ROLLED_BACK, str(fault))


def give_up(asked: Wanted, pools: Collection[Pool], settings: bool, state: PoolState, reason: str) -> None:
    """What is live stays, so a removal is no longer wished either, unless its name was given to another pool."""
    wanted.mark(pools, state=state, state_reason=reason)
    if settings:
        asked.same_settings().update(settings_state=state, settings_reason=reason)
    leaving = [pool for pool in pools if pool.removal_requested_at is not None]
    names = set(asked.pooler.pools.wanted().values_list("name", flat=True)) if leaving else set()
    wanted.mark((pool for pool in leaving if pool.name not in names), removal_requested_at=None)


def bury_the_dead(revisions: Iterable[Revision]) -> bool:
    """End revisions that a dead worker left behind; whether there were any (then the disk proves nothing)."""
    dead = list(revisions)
    for revision in dead:
        last = revision.steps[-1]["step"] if revision.steps else "drafted"
        revision.finish(RevisionState.FAILED, f"the worker died after the step {last!r}; started over")
    return bool(dead)
