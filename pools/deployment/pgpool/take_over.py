"""What Pgpool-II does in its take-over: the operator's lines stay, and the panel's part follows below its mark."""

from collections.abc import Mapping
from dataclasses import dataclass

from pools.deployment.pgpool.take_over_plan import PgpoolPlan
from pools.deployment.take_over_run import TakeOverRun
from pools.poolers import entry_logins, local_process
from pools.poolers.entry_logins import ClientRoute, EntryLogin
from pools.poolers.pgpool import pcp, preflight, render, take_over


@dataclass
class PgpoolRun(TakeOverRun[PgpoolPlan]):
    """See `TakeOverRun`."""

    @property
    def named(self) -> Mapping[str, str]:
        return {str(name): str(path) for name, path in self.plan.taken.file_paths.items()}

    def preflight(self) -> None:
        """Start a trial instance on the new files, with what they include in place."""
        taken, running = self.plan.taken, self.plan.running
        if not (program := preflight.find(taken, running.version_text)):
            return
        texts = {name: self._new(name) for name in (render.PASSWD, render.HBA, render.PCP)}
        texts[render.MAIN] = render.file(running.files.text, "")
        preflight.start(taken, program, running.version, texts)
        self.step("preflight passed", local_process.trial_started(program))

    def _new(self, name: str) -> str:
        path = self.named[name]
        return self.plan.text(path) if path in self.plan.contents else self.plan.running.files.text_of(name)

    def reload(self) -> None:
        pcp.reload_config(self.plan.taken)

    def differences(self) -> list[str]:
        return take_over.differences(self.plan.running)

    def log_in(self, before: Mapping[str, EntryLogin]) -> Mapping[str, EntryLogin]:
        routes = {name: ClientRoute(name) for name in before}
        return entry_logins.answers(self.plan.taken, routes, {name: [one] for name, one in before.items()})
