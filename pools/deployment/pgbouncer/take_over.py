"""Takes over a running PgBouncer: the panel's first apply there, which changes nothing that SHOW tells apart.

The operator's lines stay where they are. Those whose entries became pools get a comment sign before them, and the same
connection strings stand in the panel's own file. Whatever fails, the old bytes are put back, and the pooler is watched.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pools import task_queue
from pools.config_files import deliveries, pooler_files
from pools.deployment import apply_lock, snapshots
from pools.deployment.pgbouncer import take_over_plan
from pools.deployment.pgbouncer.take_over_plan import Plan
from pools.errors import ApplyFailed, IllegalTransition, LockLost, PoolsError
from pools.hosts.base import Access
from pools.inventory import histories
from pools.models import (
    Entry,
    Original,
    Pool,
    Pooler,
    Revision,
    RevisionFields,
    RevisionState,
    RolePassword,
    Specs,
    TakeOver,
    TakeOverState,
)
from pools.poolers.base import Rejected
from pools.poolers.pgbouncer import (
    console,
    database_entries,
    operators_config,
    preflight,
    processes,
    read_files,
    take_over,
    verify,
)
from pools.poolers.pgbouncer.render import DATABASES, MAIN
from pools.poolers.pgbouncer.take_over import RunningPgBouncer

logger = logging.getLogger(__name__)
Contents = Mapping[str, bytes | None]


def request(
    pooler: Pooler, config_file: str = "", names: Collection[str] | None = None, author: User | None = None
) -> TakeOver:
    """Queue a take-over that has nothing against it. Raises `IllegalTransition` with what has, `PoolerUnreachable`."""
    with take_over_plan.planned(pooler, config_file, names) as plan:
        if plan.blockers:
            raise IllegalTransition("; ".join(plan.blockers))
        config_file = plan.main_file
    return queue(pooler, config_file, names, author)


def queue(
    pooler: Pooler, config_file: str, names: Collection[str] | None = None, author: User | None = None
) -> TakeOver:
    """Queue a take-over that was previewed; what stands against it since is found by the worker, which refuses it then.

    Raises `IllegalTransition` for a pooler that can't be taken over whatever its files are.
    """
    take_over_plan.refuse(pooler)
    if pooler.take_overs.waiting().exists():
        raise IllegalTransition(_("a take-over of pooler %(pooler)s is already queued") % {"pooler": pooler})
    chosen = None if names is None else sorted(names)
    asked = TakeOver.objects.create(pooler=pooler, config_file=config_file, names=chosen, author=author)
    task_queue.ask([pooler.pk], author)
    logger.info("take-over of pooler %s requested by %s", pooler.pk, author)
    return asked


def resume(pooler: Pooler) -> None:
    """Begin a take-over that waits, or undo one that a dead worker left behind; no-op while another process works."""
    waiting = pooler.take_overs.filter(state__in=(TakeOverState.ASKED, TakeOverState.TAKING)).first()
    if waiting is None:
        return
    with apply_lock.acquire(pooler) as is_held:
        if is_held:
            _resume_under_lock(waiting)


def _resume_under_lock(waiting: TakeOver) -> None:
    waiting.refresh_from_db(fields=["state"])
    try:
        if waiting.state == TakeOverState.TAKING:
            _undo(waiting)
        elif waiting.state == TakeOverState.ASKED:
            _begin(waiting)
    except PoolsError as error:  # the lock is lost, or the old files are not back yet: the next look sees to it
        logger.warning("%s", error)


def _begin(asked: TakeOver) -> None:
    try:
        with take_over_plan.planned(asked.pooler, asked.config_file, asked.names) as plan:
            if plan.blockers:
                raise ApplyFailed("; ".join(plan.blockers))
            _TakeOverRun(asked, plan).carry_out()
    except LockLost:
        raise
    except PoolsError as fault:
        logger.warning("pooler %s was not taken over: %s", asked.pooler_id, fault)
        asked.move(TakeOverState.REFUSED, str(fault))


@dataclass
class _TakeOverRun:
    """The state of one take-over while it is carried out."""

    asked: TakeOver
    plan: Plan
    revision: Revision | None = None

    def carry_out(self) -> None:
        """Try, write, reload and compare; raises `PoolsError` once everything is as it was before."""
        self.revision = self._draft()
        try:
            self._preflight()
        except PoolsError as fault:
            self.revision.finish(RevisionState.ROLLED_BACK, str(fault))
            raise
        self.asked.originals, self.asked.appended = self._originals(), self.plan.appended
        self.asked.save(update_fields=["sealed_originals", "appended"])
        self.asked.move(TakeOverState.TAKING)
        try:
            self._go_live()
        except LockLost:  # whoever has it puts the old files back
            raise
        except (PoolsError, OSError) as fault:
            self._put_back(fault)
            raise
        self._settle()

    def _draft(self) -> Revision:
        specs = Specs({"settings": {}, "user_settings": {}, "files": {}})
        for pool in self.plan.pools:
            specs.add(snapshots.of_pool(pool))
        texts = {name: self._text(path) for name, path in self._named.items() if path in self.plan.contents}
        fields: RevisionFields = {"specs": specs, "cause": _("taken over"), "summary": snapshots.summary({}, specs)}
        return Revision.objects.draft(self.asked.pooler, texts, self.asked.author, **fields)

    @property
    def _named(self) -> dict[str, str]:
        return {name: self.plan.running.pooler.file_paths[name] for name in (DATABASES, MAIN)}

    def _text(self, path: str) -> str:
        return self.plan.contents[path].decode(errors="surrogateescape")

    def _preflight(self) -> None:
        """Start a trial instance on the new files, where this host has the program."""
        running = self.plan.running
        program_path = preflight.find(running.pooler, running.version_text)
        if not program_path:
            return
        for one in running.each:
            self._preflight_process(program_path, one)
        self._step("preflight passed", _("a trial instance started on the new files"))

    def _preflight_process(self, program_path: str, process: RunningPgBouncer) -> None:
        running = self.plan.running
        start = operators_config.working_folder(running.pooler) or running.pooler.config_dir

        def load(path: str) -> str:
            whole = read_files.here(path, start)
            if whole in self.plan.contents:
                return self._text(whole)
            return running.all_files[whole].text

        main = self._text(process.files.main.path)
        texts = {MAIN: main, DATABASES: self._text(self._named[DATABASES])}
        included = operators_config.read(main, texts, load).files
        preflight.start(running.pooler, program_path, texts, running.folder, included)

    def _originals(self) -> dict[str, Original]:
        files = self.plan.running.all_files
        found = {path: Original(one.role, one.content, one.mode, one.uid, one.gid) for path, one in files.items()}
        return {**found, self._named[DATABASES]: Original("panel")}

    def _go_live(self) -> None:
        running = self.plan.running
        self._refuse_changed()
        self._step("writing", ", ".join(self.plan.contents))
        write(running.pooler, dict(self.plan.contents), running.pooler.config_dir, self._access(), own_first=True)
        self._reload()
        self._step("reloaded")
        if found := self._differences():
            raise Rejected(_("after RELOAD: %(found)s") % {"found": "; ".join(found)})
        entries = database_entries.read(self._text(self._named[DATABASES]))
        for one in running.each:
            verify.read_back(console.table(one.process.console, "databases"), entries, ())
        self._step("read back", _("SHOW DATABASES, CONFIG and USERS are unchanged"))
        self._log_in()

    def _differences(self) -> list[str]:
        """Describe what SHOW of any process tells apart from before."""
        running = self.plan.running
        consoles = [one.process for one in running.each]
        return [
            processes.fault_of(consoles, one.process, found)
            for one in running.each
            for found in take_over.differences(one.shown, take_over.show(one.process), running)
        ]

    def _refuse_changed(self) -> None:
        """Raise `ApplyFailed` for a file that was edited since it was read."""
        for path, file in self.plan.running.all_files.items():
            if bytes_at(self.plan.running.pooler, path, follow=True) != file.content:
                raise ApplyFailed(_("%(path)s was edited in this moment: try again") % {"path": path})

    def _access(self) -> Access:
        return access_of_panels(self._originals())

    def _reload(self) -> None:
        for one in self.plan.running.each:
            console.reload(one.process.console)

    def _log_in(self) -> None:
        before = {one.name: one.answer for one in self.plan.proposals if one.answer.role and not one.answer.error}
        after = take_over.answers(self.plan.running, before)
        if failed := [f"{name}: {one.error}" for name, one in after.items() if one.error]:
            raise Rejected(_("a login that worked before fails: %(failed)s") % {"failed": "; ".join(failed)})
        count = len(after)
        text = ngettext("a login through %(count)d entry", "a login through each of %(count)d entries", count)
        self._step("logged in", text % {"count": count})

    def _put_back(self, fault: Exception) -> None:
        """Restore the old bytes and reload; whatever happens, the reason is recorded."""
        reason = str(fault)
        try:
            restore(self.asked)
            self._reload()
            left = self._differences()
            if left:
                reason = _("%(fault)s; and after the old files: %(left)s") % {"fault": fault, "left": "; ".join(left)}
        except PoolsError as second:
            reason = _("%(fault)s; and the old files: %(second)s") % {"fault": fault, "second": second}
        if self.revision:
            self.revision.finish(RevisionState.ROLLED_BACK, reason)

    def _settle(self) -> None:
        """Record that the pooler is managed now, in one transaction."""
        pooler, taken, revision = self.asked.pooler, self.plan.running.pooler, self.revision
        if revision is None or not pooler.holds_apply_lock():
            raise LockLost(_("another worker took over pooler %(pooler)s") % {"pooler": pooler})
        with transaction.atomic():
            pooler.edit(
                None,
                config_dir=taken.config_dir,
                config_file=taken.config_file,
                file_paths=taken.file_paths,
            )
            self._save_pools()
            self._keep_passwords()
            take_over_plan.note_kept(pooler, self.plan.proposals)
            revision.finish(RevisionState.APPLIED)
            self.asked.move(TakeOverState.TAKEN)
        logger.info("pooler %s is taken over, with %d pools", pooler.pk, len(self.plan.pools))

    def _save_pools(self) -> None:
        now = timezone.now()
        for one in self.plan.proposals:
            if pool := one.pool:
                pool.pooler, pool.applied_at = self.asked.pooler, now
                pool.proved_at = None if one.answer.error else now
                pool.save(force_insert=True)
                entry = Entry.objects.filter(pooler=pool.pooler, name=pool.name).first()
                if entry:
                    Entry.objects.filter(pk=entry.pk).update(pool=pool, cluster=pool.cluster)
                    histories.to_pool(entry, pool)

    def _keep_passwords(self) -> None:
        """Seal the passwords that were found in entries and in the auth_file, and that worked."""
        running = self.plan.running
        for one in self.plan.proposals:
            if one.pool is None:
                continue
            found = {one.answer.role: one.answer.password} if not one.answer.error else {}
            if user := one.pool.user:
                found = {user: one.line.pairs.get("password") or running.passwords.get(user, "")}
            for role, password in found.items():
                _keep_password(one.pool, role, password)

    def _step(self, word: str, detail: str = "") -> None:
        if not self.asked.pooler.holds_apply_lock():
            raise LockLost(_("another worker took over pooler %(pooler)s") % {"pooler": self.asked.pooler})
        if self.revision:
            self.revision.note(word, detail, write=True)


def _keep_password(pool: Pool, role: str, password: str) -> None:
    known = RolePassword(cluster=pool.cluster, role=role)
    known.password = password
    values = {"sealed_password": known.sealed_password}
    RolePassword.objects.update_or_create(cluster=pool.cluster, role=role, defaults=values)


def _undo(left: TakeOver) -> None:
    """Restore the files of a take-over whose worker died; the pooler is watched as before."""
    reason = _("the worker died during the take-over; the files are as they were")
    restore(left)
    try:
        with processes.opened(left.pooler) as found:
            for one in found:
                console.reload(one.console)
    except PoolsError as error:
        reason = _("%(reason)s, for the next start: %(error)s") % {"reason": reason, "error": error}
    for revision in left.pooler.revisions.cut_short():
        revision.finish(RevisionState.FAILED, reason)
    left.move(TakeOverState.REFUSED, reason)


def restored_files(taken: TakeOver) -> dict[str, tuple[bytes | None, bytes | None]]:
    """Return path → bytes now and bytes without the panel's part; None where there is or will be no file."""
    found: dict[str, tuple[bytes | None, bytes | None]] = {}
    for path, original in taken.originals.items():
        now = bytes_at(taken.pooler, path)
        if original.role in (read_files.RULES, read_files.OTHER) or (now is None and original.content is not None):
            continue  # The file is not the panel's to write, or somebody removed it.
        found[path] = (now, _without_panel_part(original, now, taken.appended))
    return found


def restore(taken: TakeOver) -> None:
    """Write the files without the panel's part; what others edited meanwhile stays. Raises `ApplyFailed`."""
    changes = {path: after for path, (now, after) in restored_files(taken).items() if now != after}
    own = str(Path(taken.config_file).parent)
    write(taken.pooler, changes, own, access_of_panels(taken.originals), own_first=False)


def access_of_panels(originals: Mapping[str, Original]) -> Access:
    """Return the owner and mode of the panel's file: those of the main one, closed to everybody else."""
    main = next(one for one in originals.values() if one.role == read_files.MAIN)
    return Access(main.uid, main.gid, main.mode & 0o640)


def write(pooler: Pooler, contents: Contents, own: str, of_new: Access, *, own_first: bool) -> None:
    """Write files by path, those of one folder at one moment; the panel's `own` folder first, or last.

    Each state between is whole: an entry stands twice alike, never nowhere. Raises `LockLost` between two writes.
    """
    folders: dict[str, dict[str, bytes | None]] = defaultdict(dict)
    for path, content in contents.items():
        folders[str(Path(path).parent)][Path(path).name] = content
    renew = partial(pooler_files.renew_lock, pooler)
    for number, folder in enumerate(sorted(folders, key=lambda one: (one == own) != own_first)):
        if number:
            renew()
        deliveries.of(pooler).replace(pooler, folder, folders[folder], of_new, renew)


def _without_panel_part(original: Original, now: bytes | None, appended: str) -> bytes | None:
    if original.content is None or now is None:
        return None
    text = now.decode(errors="surrogateescape")
    if original.role == read_files.USERS:
        text = take_over.restored_users(text, original.content.decode(errors="surrogateescape"))
    else:
        text = take_over.restored(text, appended if original.role == read_files.MAIN else "")
    return text.encode(errors="surrogateescape")


def bytes_at(pooler: Pooler, path: str, *, follow: bool = False) -> bytes | None:
    """Return the bytes of a file on a pooler's host; None where there is none, or no regular one."""
    try:
        found = deliveries.of(pooler).file_at(pooler, path, follow=follow)
    except OSError:
        return None
    return found.content if found else None
