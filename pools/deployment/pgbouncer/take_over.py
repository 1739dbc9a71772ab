"""What PgBouncer does in its take-over: the operator's lines stay where they are.

Those whose entries became pools get a comment sign before them, and the same connection strings stand in the panel's
own file.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext as _

from pools.deployment.pgbouncer.take_over_plan import EntryPlan, EntryProposal
from pools.deployment.take_over_plans import Proposal
from pools.deployment.take_over_run import TakeOverRun
from pools.models import Entry, Original
from pools.poolers.entry_logins import EntryLogin
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
from pools.poolers.pgbouncer.operators_config import ANY
from pools.poolers.pgbouncer.render import DATABASES, MAIN
from pools.poolers.pgbouncer.take_over import RunningPgBouncer


@dataclass
class PgBouncerRun(TakeOverRun[EntryPlan]):
    """See `TakeOverRun`."""

    @property
    def named(self) -> Mapping[str, str]:
        return {name: self.plan.taken.file_paths[name] for name in (DATABASES, MAIN)}

    def preflight(self) -> None:
        """Start a trial instance on the new files."""
        running = self.plan.running
        program_path = preflight.find(running.pooler, running.version_text)
        if not program_path:
            return
        for one in running.each:
            self._preflight_process(program_path, one)
        self.step("preflight passed", _("a trial instance started on the new files"))

    def _preflight_process(self, program_path: str, process: RunningPgBouncer) -> None:
        running = self.plan.running
        start = operators_config.working_folder(running.pooler) or running.pooler.config_dir

        def load(path: str) -> str:
            whole = read_files.here(path, start)
            if whole in self.plan.contents:
                return self.plan.text(whole)
            return running.all_files[whole].text

        main = self.plan.text(process.files.main.path)
        texts = {MAIN: main, DATABASES: self.plan.text(self.named[DATABASES])}
        included = operators_config.read(main, texts, load).files
        preflight.start(running.pooler, program_path, texts, running.folder, included)

    def reload(self) -> None:
        for one in self.plan.running.each:
            console.reload(one.process.console)

    def differences(self) -> list[str]:
        """Compare SHOW of each process."""
        running = self.plan.running
        consoles = [one.process for one in running.each]
        return [
            processes.fault_of(consoles, one.process, found)
            for one in running.each
            for found in take_over.differences(one.shown, take_over.show(one.process), running)
        ]

    def read_back(self) -> None:
        entries = database_entries.read(self.plan.text(self.named[DATABASES]))
        for one in self.plan.running.each:
            verify.read_back(console.table(one.process.console, "databases"), entries, ())

    def log_in(self, before: Mapping[str, EntryLogin]) -> Mapping[str, EntryLogin]:
        return take_over.answers(self.plan.running, before)

    def originals(self) -> dict[str, Original]:
        return {**super().originals(), self.named[DATABASES]: Original("panel")}

    def passwords(self, proposal: Proposal) -> Mapping[str, str]:
        """Return those of entries and of the auth_file too."""
        if proposal.pool and isinstance(proposal, EntryProposal) and (user := proposal.pool.user):
            given = proposal.line.pairs.get("password") or self.plan.running.passwords.get(user, "")
            return {**super().passwords(proposal), user: given}
        return super().passwords(proposal)

    def note_kept(self) -> None:
        """Note `*` too: no console lists it; the next check reads its values from the files."""
        super().note_kept()
        for one in self.plan.proposals:
            if one.name == ANY:
                noted = {"source_file": one.path, "source_line": one.number, "kept_because": one.because}
                made = {**noted, "seen_at": timezone.now()}
                Entry.objects.update_or_create(pooler=self.asked.pooler, name=ANY, defaults=noted, create_defaults=made)
