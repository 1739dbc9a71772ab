"""The steps of an upgrade in their order, and the way back from each."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from panel.upgrade import health, journal, services
from panel.upgrade.errors import StepFailed
from panel.upgrade.journal import Entry
from panel.upgrade.layout import Layout
from panel.upgrade.progress import Progress
from panel.upgrade.release import Release, Source
from panel.upgrade.services import Services

CHECK, INSTALL, TRY, STOP, BACK_UP, MIGRATE, PAGES, SWITCH, START, HEALTH = NAMES = (
    "check",
    "install",
    "try",
    "stop",
    "backup",
    "migrate",
    "pages",
    "switch",
    "start",
    "health",
)
# What a doctor of the new release says beside these is about services that run with the old one, or not at all.
OF_THE_NEW_RELEASE = ("schema", "database")


@dataclass
class Upgrade:
    """One upgrade; `entry` is what the journal holds of it."""

    layout: Layout
    manager: Services
    url: str
    entry: Entry
    source: Source
    progress: Progress
    health_within_s: float = health.WITHIN_S
    started: float = 0.0  # when the services of the new release were, in monotonic seconds

    @property
    def new(self) -> Release:
        """The release that is upgraded to."""
        return self.layout.release(self.entry.after)

    @property
    def old(self) -> Release:
        """The release that was current before."""
        return self.layout.release(self.entry.before)

    def go_forward(self) -> None:
        """Carry every step out. Raises `StepFailed`; the journal then names the step."""
        for name, step in self._forward():
            self._begin(name)
            step()
        journal.remove(self.layout.journal)

    def go_back(self) -> None:
        """Undo what was done, whichever step that ended in; can be repeated. Raises `StepFailed`."""
        reached = NAMES.index(self.entry.step)
        if reached >= NAMES.index(STOP):
            self._return_to_old(reached)
        journal.remove(self.layout.journal)
        self.new.remove()

    def _return_to_old(self, reached: int) -> None:
        self.progress.report("go back: stop the services")
        services.stop_all(self.manager)
        if reached >= NAMES.index(MIGRATE):
            self.progress.report(f"go back: restore {self.entry.backup}")
            self.new.manage("restore", self.entry.backup, "--yes", "--go-back")
        self.layout.switch(self.entry.before)
        if reached >= NAMES.index(PAGES):
            self.progress.report("go back: collect the pages' files of the old release")
            self.old.manage("collectstatic", "--noinput", "--verbosity=0")
        self.progress.report(f"go back: start {self.entry.before}")
        started = services.start_all(self.manager)
        health.wait_until_well(self.url, self.old, self.manager, started, self.health_within_s)

    def _forward(self) -> list[tuple[str, Callable[[], object]]]:
        return [
            (INSTALL, lambda: self.new.install(self.source)),
            (TRY, self._try),
            (STOP, lambda: services.stop_all(self.manager)),
            (BACK_UP, self._back_up),
            (MIGRATE, lambda: self.new.manage("migrate", "--noinput", "--verbosity=0")),
            (PAGES, lambda: self.new.manage("collectstatic", "--noinput", "--verbosity=0")),
            (SWITCH, lambda: self.layout.switch(self.entry.after)),
            (START, self._start),
            (HEALTH, self._check_health),
        ]

    def _begin(self, step: str) -> None:
        self.entry = self.entry.at(step)
        journal.write(self.layout.journal, self.entry)
        self.progress.report(REPORTS[step].format(before=self.entry.before, after=self.entry.after))

    def _try(self) -> None:
        """Let the new release read its settings and the database's migrations, before anything is stopped."""
        self.new.manage("check")
        for one in self.new.doctor():
            if one["subject"] in OF_THE_NEW_RELEASE and not one["is_ok"]:
                raise StepFailed(f"{one['subject']}: {one['text']}; {one['remedy']}")

    def _back_up(self) -> None:
        self.layout.make_backup_folder()
        now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        folder = self.layout.backups / f"before-{self.entry.after}-{now}"
        self.new.manage("backup", str(folder))
        self.entry = Entry(self.entry.before, self.entry.after, BACK_UP, str(folder))
        journal.write(self.layout.journal, self.entry)
        self.progress.report(f"  {folder}")

    def _start(self) -> None:
        self.started = services.start_all(self.manager)

    def _check_health(self) -> None:
        health.wait_until_well(self.url, self.new, self.manager, self.started, self.health_within_s)


REPORTS = {
    INSTALL: "install {after} beside {before}",
    TRY: "try {after} with the installation's settings",
    STOP: "stop beat, let the workers finish, stop the web",
    BACK_UP: "back up the metadata database, and read the backup back",
    MIGRATE: "migrate the metadata database",
    PAGES: "collect the pages' files",
    SWITCH: "let `current` lead to {after}",
    START: "start the workers, beat and the web",
    HEALTH: "check the health of {after}",
}
