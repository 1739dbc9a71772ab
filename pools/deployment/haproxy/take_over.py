"""What HAProxy does in its take-over: all lines of the operator's stay, and the panel's part follows below its mark."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from pools.deployment.haproxy.take_over_plan import HAProxyPlan
from pools.deployment.take_over_run import TakeOverRun
from pools.poolers import entry_logins
from pools.poolers.entry_logins import EntryLogin
from pools.poolers.faults import Rejected
from pools.poolers.haproxy import master_process, preflight, render, stats_socket, take_over
from pools.poolers.haproxy.stats_socket import MAIN


@dataclass
class HAProxyRun(TakeOverRun[HAProxyPlan]):
    """See `TakeOverRun`."""

    @property
    def named(self) -> Mapping[str, str]:
        return {MAIN: self.plan.taken.config_file}

    def preflight(self) -> None:
        """Let the program check the files, where this host has it."""
        taken, running = self.plan.taken, self.plan.running
        if program := preflight.find(taken, running.version_text):
            texts = {one.path: one.text for one in running.files.configs}
            texts[taken.config_file] = self.plan.text(taken.config_file)
            if fault := preflight.fault_of(taken, program, texts):
                raise Rejected(_("%(program)s -c refuses the files: %(fault)s") % {"program": program, "fault": fault})
            self.step("preflight passed", _("%(program)s -c accepts the files") % {"program": program})

    def reload(self) -> None:
        master_process.replace_worker(self.plan.taken)

    def differences(self) -> list[str]:
        return take_over.differences(self.plan.running)

    def read_back(self) -> None:
        """Require that the worker has read the panel's part."""
        live, wanted = stats_socket.digest(self.plan.taken), render.digest_in(self.plan.text(self.named[MAIN]))
        if live != wanted:
            text = _("after the reload, the worker has the file %(live)s, not %(wanted)s")
            raise Rejected(text % {"live": live or "–", "wanted": wanted})

    def log_in(self, before: Mapping[str, EntryLogin]) -> Mapping[str, EntryLogin]:
        routes = {name: self.plan.routes[name] for name in before}
        return entry_logins.answers(self.plan.taken, routes, {name: [one] for name, one in before.items()})
