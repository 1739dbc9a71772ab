"""The life of a take-over, the same for each kind of pooler; what a kind does lies in its folder beside this."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from pools import task_queue
from pools.deployment import apply_lock, diff, take_over_files
from pools.deployment.take_over_plans import Plan
from pools.deployment.take_over_run import TakeOverRun
from pools.errors import ApplyFailed, IllegalTransition, LockLost, NotThere, PoolsError
from pools.models import Original, Pooler, RevisionState, TakeOver, TakeOverState
from pools.poolers.operators_files import UNWRITTEN

logger = logging.getLogger(__name__)
Changed = dict[str, tuple[bytes | None, bytes | None]]  # path → bytes now and after; None where there is no file


class TakeOverSteps(ABC):
    """A kind implements the abstract members; `names` are those of the entries that may become pools, None for all."""

    @abstractmethod
    def planned(
        self, pooler: Pooler, config_file: str, names: Collection[str] | None = None
    ) -> AbstractContextManager[Plan]:
        """Plan the take-over, with what it needs still open. Raises `IllegalTransition`, `PoolerUnreachable`."""

    @abstractmethod
    def run_of(self, asked: TakeOver, plan: Any) -> TakeOverRun[Any]:  # noqa: ANN401 (the plan of the kind itself)
        """Make the run of a plan that `planned` gave."""

    @abstractmethod
    def reloading(self, pooler: Pooler) -> AbstractContextManager[Callable[[], None]]:
        """Open what a reload needs, and give what reloads it. Raises `PoolerUnreachable`, `Rejected`."""

    @abstractmethod
    def without_panel_part(self, taken: TakeOver, path: str, original: Original, now: bytes) -> bytes | None:
        """Return the bytes of one file of the operator's without what the panel put there; edits of others stay."""

    @abstractmethod
    def masked_for(self, pooler: Pooler, texts: diff.Texts) -> Mapping[str, str]:
        """Mask the secrets of files by path."""

    def added_files(self, taken: TakeOver) -> Changed:
        """Return the files that the panel added since, which go."""
        return {}

    def release_blockers(self, taken: TakeOver) -> list[str]:
        """Return what has to be done before it can be let go."""
        return []

    def before_release(self, taken: TakeOver, files: Changed) -> Mapping[str, bytes | None]:
        """Return files that it has to read before the old ones, so that no setting of the panel's stays live."""
        return {}

    def request(
        self, pooler: Pooler, config_file: str = "", names: Collection[str] | None = None, author: User | None = None
    ) -> TakeOver:
        """Queue a take-over that has nothing against it. Raises `IllegalTransition`, `PoolerUnreachable`."""
        with self.planned(pooler, config_file, names) as plan:
            if plan.blockers:
                raise IllegalTransition("; ".join(plan.blockers))
            config_file = plan.main_file
        return self.queue(pooler, config_file, names, author)

    def queue(
        self, pooler: Pooler, config_file: str, names: Collection[str] | None = None, author: User | None = None
    ) -> TakeOver:
        """Queue one that was previewed; what stands against it since is found by the worker, which refuses it then.

        Raises `IllegalTransition` for a pooler that can't be taken over whatever its files are.
        """
        take_over_files.refuse(pooler)
        if pooler.take_overs.waiting().exists():
            raise IllegalTransition(_("a take-over of pooler %(pooler)s is already queued") % {"pooler": pooler})
        chosen = None if names is None else sorted(names)
        asked = TakeOver.objects.create(pooler=pooler, config_file=config_file, names=chosen, author=author)
        task_queue.ask([pooler.pk], author)
        logger.info("take-over of pooler %s requested by %s", pooler.pk, author)
        return asked

    def resume(self, pooler: Pooler) -> None:
        """Begin a take-over that waits, or undo one that a dead worker left behind; no-op while another works."""
        waiting = pooler.take_overs.filter(state__in=(TakeOverState.ASKED, TakeOverState.TAKING)).first()
        if waiting is None:
            return
        with apply_lock.acquire(pooler) as is_held:
            if is_held:
                self._resume_under_lock(waiting)

    def restored_files(self, taken: TakeOver) -> Changed:
        """Return path → bytes now and bytes without the panel's part."""
        found: Changed = {}
        for path, original in taken.originals.items():
            if original.role in UNWRITTEN:
                continue
            now = take_over_files.bytes_at(taken.pooler, path)
            if now is None or original.content is None:
                if original.content is None:  # else somebody removed it
                    found[path] = (now, None)
                continue
            found[path] = (now, self.without_panel_part(taken, path, original, now))
        return found

    def restore(self, taken: TakeOver) -> None:
        """Write the files without the panel's part; what others edited meanwhile stays. Raises `ApplyFailed`."""
        self.write(taken, {path: after for path, (now, after) in self.restored_files(taken).items() if now != after})

    def write(self, taken: TakeOver, contents: Mapping[str, bytes | None]) -> None:
        """Write files that are given back, the panel's folder last. Raises `ApplyFailed`, `LockLost`."""
        own, access = str(Path(taken.config_file).parent), take_over_files.access_of_panels(taken.originals)
        take_over_files.write(taken.pooler, contents, own, access, own_first=False)

    def _resume_under_lock(self, waiting: TakeOver) -> None:
        waiting.refresh_from_db(fields=["state"])
        try:
            if waiting.state == TakeOverState.TAKING:
                self._undo(waiting)
            elif waiting.state == TakeOverState.ASKED:
                self._begin(waiting)
        except PoolsError as error:  # the lock is lost, or the old files are not back yet: the next look sees to it
            logger.warning("%s", error)

    def _begin(self, asked: TakeOver) -> None:
        try:
            with self.planned(asked.pooler, asked.config_file, asked.names) as plan:
                if plan.blockers:
                    raise ApplyFailed("; ".join(plan.blockers))
                self.run_of(asked, plan).carry_out()
        except LockLost:
            raise
        except PoolsError as fault:
            logger.warning("pooler %s was not taken over: %s", asked.pooler_id, fault)
            asked.move(TakeOverState.REFUSED, str(fault))

    def _undo(self, left: TakeOver) -> None:
        """Restore the files of a take-over whose worker died; the pooler is watched as before."""
        reason = _("the worker died during the take-over; the files are as they were")
        self.restore(left)
        try:
            with self.reloading(left.pooler) as reload:
                reload()
        except PoolsError as error:
            reason = _("%(reason)s, for the next start: %(error)s") % {"reason": reason, "error": error}
        for revision in left.pooler.revisions.cut_short():
            revision.finish(RevisionState.FAILED, reason)
        left.move(TakeOverState.REFUSED, reason)


def active_take_over(pooler: Pooler) -> TakeOver:
    """Return the take-over that a pooler is managed by. Raises `IllegalTransition`."""
    taken = pooler.take_overs.holding().first()
    if taken is None:
        text = _("pooler %(pooler)s was not taken over, so there is nothing to go back to")
        raise IllegalTransition(text % {"pooler": pooler})
    return taken


def backup(pooler: Pooler) -> TakeOver:
    """Return the latest take-over with original files, whether or not it still holds. Raises `NotThere`."""
    taken = pooler.take_overs.exclude(sealed_originals="").first()
    if taken is None:
        raise NotThere(_("pooler %(pooler)s was never taken over") % {"pooler": pooler})
    return taken
