"""One take-over while it is carried out: the panel's first apply there, which changes nothing that the program shows.

Whatever fails, the old bytes are put back, and the pooler is watched.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Generic, TypeVar

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pools.deployment import snapshots, take_over_files
from pools.deployment.take_over_plans import Plan, Proposal
from pools.errors import ApplyFailed, LockLost, PoolsError
from pools.inventory import histories
from pools.models import (
    Entry,
    Original,
    Pool,
    Revision,
    RevisionFields,
    RevisionState,
    RolePassword,
    Specs,
    TakeOver,
    TakeOverState,
)
from pools.poolers import KINDS
from pools.poolers.entry_logins import EntryLogin
from pools.poolers.faults import Rejected

logger = logging.getLogger(__name__)
P = TypeVar("P", bound=Plan)


@dataclass
class TakeOverRun(ABC, Generic[P]):
    """Its state; a kind implements the abstract members. `restore` gives the files their old bytes back."""

    asked: TakeOver
    plan: P
    restore: Callable[[TakeOver], None]
    revision: Revision | None = None

    @property
    @abstractmethod
    def named(self) -> Mapping[str, str]:
        """Path by the panel's name, of the files whose texts the revision records."""

    @abstractmethod
    def preflight(self) -> None:
        """Try the new files where this host has the program. Raises `PoolsError`."""

    @abstractmethod
    def reload(self) -> None:
        """Have it read its files, and wait until it has. Raises `PoolsError`."""

    @abstractmethod
    def differences(self) -> list[str]:
        """Describe what the program's own views tell apart from before."""

    @abstractmethod
    def log_in(self, before: Mapping[str, EntryLogin]) -> Mapping[str, EntryLogin]:
        """Log in through these entries as those who got through before."""

    def read_back(self) -> None:
        """Require that the panel's own entries are live. Raises `Rejected`."""

    def passwords(self, proposal: Proposal) -> Mapping[str, str]:
        """Return role → password that were found and worked for a pool."""
        answer = proposal.answer
        return {answer.role: answer.password} if answer.role and not answer.error else {}

    def carry_out(self) -> None:
        """Try, write, reload and compare; raises `PoolsError` once everything is as it was before."""
        self.revision = self._draft()
        try:
            self.preflight()
        except PoolsError as fault:
            self.revision.finish(RevisionState.ROLLED_BACK, str(fault))
            raise
        self.asked.originals, self.asked.appended = self.originals(), self.plan.appended
        self.asked.save(update_fields=["sealed_originals", "appended"])
        self.asked.move(TakeOverState.TAKING)
        try:
            self._go_live()
            self._settle()
        except LockLost:  # whoever has it puts the old files back
            raise
        except IntegrityError as error:
            logger.warning("pooler %s can't be saved as taken over: %s", self.asked.pooler_id, error)
            removed = ApplyFailed(_("a cluster of its pools was removed in the meantime: plan the take-over again"))
            self._put_back(removed)
            raise removed from error
        except (PoolsError, OSError) as fault:
            self._put_back(fault)
            raise

    def originals(self) -> dict[str, Original]:
        """Return the files as they are; those that the panel adds have no content."""
        files = self.plan.files_by_path
        found = {path: Original(one.role, one.content, one.mode, one.uid, one.gid) for path, one in files.items()}
        return {**found, **{path: Original("panel") for path in self.plan.contents if path not in files}}

    def step(self, word: str, detail: str = "") -> None:
        """Record a step. Raises `LockLost`."""
        if not self.asked.pooler.holds_apply_lock():
            raise LockLost(_("another worker took over pooler %(pooler)s") % {"pooler": self.asked.pooler})
        if self.revision:
            self.revision.note(word, detail, write=True)

    def _draft(self) -> Revision:
        specs = Specs({"settings": {}, "user_settings": {}, "files": {}})
        for pool in self.plan.pools:
            specs.add(snapshots.of_pool(pool))
        texts = {name: self.plan.text(path) for name, path in self.named.items() if path in self.plan.contents}
        fields: RevisionFields = {"specs": specs, "cause": _("taken over"), "summary": snapshots.summary({}, specs)}
        return Revision.objects.draft(self.asked.pooler, texts, self.asked.author, **fields)

    def _go_live(self) -> None:
        taken = self.plan.taken
        take_over_files.refuse_edited(taken, self.plan.files_by_path)
        self.step("writing", ", ".join(self.plan.contents))
        access = take_over_files.access_of_panels(self.originals())
        take_over_files.write(taken, dict(self.plan.contents), taken.config_dir, access, own_first=True)
        self.reload()
        self.step("reloaded")
        if found := self.differences():
            raise Rejected(_("after the reload: %(found)s") % {"found": "; ".join(found)})
        self.read_back()
        views = KINDS[self.asked.pooler.kind].compared_views
        self.step("read back", _("unchanged: %(views)s") % {"views": views})
        self._log_in()

    def _log_in(self) -> None:
        before = {one.name: one.answer for one in self.plan.proposals if one.answer.role and not one.answer.error}
        after = self.log_in(before)
        if failed := [f"{name}: {one.error}" for name, one in after.items() if one.error]:
            raise Rejected(_("a login that worked before fails: %(failed)s") % {"failed": "; ".join(failed)})
        count = len(after)
        text = ngettext("a login through %(count)d entry", "a login through each of %(count)d entries", count)
        self.step("logged in", text % {"count": count})

    def _put_back(self, fault: Exception) -> None:
        """Restore the old bytes and reload; whatever happens, the reason is recorded."""
        reason = str(fault)
        try:
            self.restore(self.asked)
            self.reload()
            if left := self.differences():
                reason = _("%(fault)s; and after the old files: %(left)s") % {"fault": fault, "left": "; ".join(left)}
        except PoolsError as second:
            reason = _("%(fault)s; and the old files: %(second)s") % {"fault": fault, "second": second}
        if self.revision:
            self.revision.finish(RevisionState.ROLLED_BACK, reason)

    def _settle(self) -> None:
        """Record that the pooler is managed now, in one transaction."""
        pooler, taken, revision = self.asked.pooler, self.plan.taken, self.revision
        if revision is None or not pooler.holds_apply_lock():
            raise LockLost(_("another worker took over pooler %(pooler)s") % {"pooler": pooler})
        names = ("config_dir", "config_file", "file_paths", "facts")
        with transaction.atomic():
            pooler.edit(None, **{name: getattr(taken, name) for name in names})
            self._save_pools()
            self.note_kept()
            revision.finish(RevisionState.APPLIED)
            self.asked.move(TakeOverState.TAKEN)
        logger.info("pooler %s is taken over, with %d pools", pooler.pk, len(self.plan.pools))

    def _save_pools(self) -> None:
        now = timezone.now()
        for one in self.plan.proposals:
            if not (pool := one.pool):
                continue
            pool.pooler, pool.applied_at = self.asked.pooler, now
            pool.proved_at = None if one.answer.error else now
            pool.save(force_insert=True)
            if entry := Entry.objects.filter(pooler=pool.pooler, name=pool.name).first():
                Entry.objects.filter(pk=entry.pk).update(pool=pool, cluster=pool.cluster)
                histories.to_pool(entry, pool)
        found = {
            (one.pool.cluster_id, role): (one.pool, password)
            for one in self.plan.proposals
            if one.pool
            for role, password in self.passwords(one).items()
        }
        for (_cluster, role), (pool, password) in sorted(found.items(), key=itemgetter(0)):  # as another take-over does
            _keep_password(pool, role, password)

    def note_kept(self) -> None:
        """Record where each entry stands and why those that stayed did, for the list of entries."""
        for one in self.plan.proposals:
            noted = {"source_file": one.path, "source_line": one.number, "kept_because": one.because}
            Entry.objects.filter(pooler=self.asked.pooler, name=one.name).update(**noted)


def _keep_password(pool: Pool, role: str, password: str) -> None:
    known = RolePassword(cluster=pool.cluster, role=role)
    known.password = password
    values = {"sealed_password": known.sealed_password}
    RolePassword.objects.update_or_create(cluster=pool.cluster, role=role, defaults=values)
