"""`pooldeckctl upgrade WHEEL|VERSION`: replaces the release of an installation, and goes back where a step fails."""

import argparse
import fcntl
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from core.lib import upgrade_backups
from panel.upgrade import health, journal, preflight, services, steps, versions
from panel.upgrade.errors import StepFailed, UpgradeRefused
from panel.upgrade.journal import Entry
from panel.upgrade.layout import Layout
from panel.upgrade.progress import Progress
from panel.upgrade.release import Release, Source
from panel.upgrade.steps import Upgrade

NONE = Source()  # going back installs nothing
DONE, WENT_BACK, REFUSED, STUCK = 0, 1, 2, 3
KEPT = 2  # releases beside the current one


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="pooldeckctl upgrade",
        description="Upgrade this installation: back up, install beside, migrate, switch, restart, check; go back at a "
        "fault. One that was killed is undone by the next, or by --undo.",
        epilog=f"Exit codes: {DONE} upgraded, {WENT_BACK} a step failed and the old release runs again, {REFUSED} "
        f"refused, {STUCK} a step of going back failed too.",
    )
    parser.add_argument("target", nargs="?", metavar="WHEEL|VERSION", help="a wheel, or a version for pip to find")
    parser.add_argument("--undo", action="store_true", help="only go back from an upgrade that was killed")
    parser.add_argument("--ignore-doctor", action="store_true", help="upgrade a panel that is not well")
    parser.add_argument(
        "--service-manager",
        default="systemd",
        metavar="systemd|none|COMMAND",
        help="who stops and starts the services: systemd, nobody, or a command called as systemctl is",
    )
    parser.add_argument(
        "--requirements",
        type=Path,
        metavar="FILE",
        help="versions and hashes of what the release needs, in place of those that its wheel holds",
    )
    parser.add_argument(
        "--installer",
        default="",
        metavar="COMMAND",
        help="what makes a release's environment, called as COMMAND FOLDER REQUIREMENT; else venv and pip",
    )
    parser.add_argument(
        "--keep",
        type=_count,
        default=KEPT,
        metavar="N",
        help=f"how many releases before the new one stay, at least the one that is replaced (default: {KEPT})",
    )
    parser.add_argument(
        "--keep-backups",
        type=_count,
        metavar="N",
        help="how many backups of upgrades stay (default: POOLDECK_UPGRADE_BACKUPS of the installation, or 3)",
    )
    parser.add_argument(
        "--url", help="where the web process answers (default: POOLDECK_WEB_PORT of this machine); empty: ask nobody"
    )
    parser.add_argument("--health-within", type=float, default=health.WITHIN_S, metavar="SECONDS")
    parser.add_argument("--prefix", type=Path, default=Path("/opt/pooldeck"))
    parser.add_argument("--environment-file", type=Path, default=Path("/etc/pooldeck/environment"))
    parser.add_argument("--backups", type=Path, default=upgrade_backups.FOLDER)
    parser.add_argument("--user", default="pooldeck", help="the panel's account; empty: who runs this")
    given = parser.parse_args(words)
    if bool(given.target) == given.undo:
        parser.error("name a wheel or a version, or give --undo")
    return given


def _count(word: str) -> int:
    if not word.isdigit() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word!r} must be a number from 1: what an upgrade may go back to stays")
    return int(word)


def main(words: Sequence[str]) -> int:
    """Upgrade, and return the exit code."""
    given = arguments(words)
    progress = Progress()
    layout = Layout(given.prefix, given.environment_file, given.backups, given.user)
    try:
        with _alone(layout):
            return _carry_out(given, layout, progress)
    except UpgradeRefused as error:
        print(f"not upgraded: {error}", file=sys.stderr)  # noqa: T201 (the terminal)
        return REFUSED


def _carry_out(given: argparse.Namespace, layout: Layout, progress: Progress) -> int:
    if unfinished := journal.read(layout.journal):
        progress.report(f"an upgrade to {unfinished.after} was ended in step {unfinished.step!r}: going back first")
        if not _went_back(_upgrade(given, layout, unfinished, progress)):
            return STUCK
    if given.undo:
        progress.report(f"{layout.current_version()} is current")
        return DONE
    target, before = versions.target(given.target), layout.current_version()
    versions.refuse_backwards(before, target.version)
    progress.report(f"check {before}, the disk, and whether {target.version} may follow it")
    preflight.refuse_unfit(layout, layout.release(before), ignore_doctor=given.ignore_doctor)
    source = Source(target.requirement, str(given.requirements or ""), given.installer)
    upgrade = _upgrade(given, layout, Entry(before, target.version, steps.CHECK), progress, source)
    try:
        upgrade.go_forward()
    except StepFailed as error:
        print(f"step {upgrade.entry.step!r} failed: {error}", file=sys.stderr, flush=True)  # noqa: T201 (the terminal)
        return WENT_BACK if _went_back(upgrade) else STUCK
    progress.report(f"{target.version} is current; {before} stays in {layout.release(before).folder}")
    _note(upgrade, upgrade.new, "done")
    _remove_old_backups(layout, given.keep_backups or layout.kept_backups(), progress)
    _remove_old_releases(layout, target.version, given.keep, progress)
    if not upgrade.manager.manages:
        progress.report("start the services now: nobody manages them here")
    return DONE


def _remove_old_releases(layout: Layout, current: str, keep: int, progress: Progress) -> None:
    for old in layout.releases_before(current)[keep:]:
        old.remove()
        progress.report(f"{old.version} is removed from {old.folder.parent}: --keep {keep}")


def _remove_old_backups(layout: Layout, keep: int, progress: Progress) -> None:
    for old in layout.backups_before_upgrades()[keep:]:
        shutil.rmtree(old)
        progress.report(f"{old} is removed: the newest {keep} backups of upgrades stay")


def _note(upgrade: Upgrade, release: Release, outcome: str) -> None:
    """Record the end of an upgrade in the audit trail, by the release that runs now."""
    try:
        release.manage("note-upgrade", upgrade.entry.before, upgrade.entry.after, outcome)
    except StepFailed:
        upgrade.progress.report(f"{release.version} made no entry of this in the audit trail")


def _went_back(upgrade: Upgrade) -> bool:
    try:
        upgrade.go_back()
    except StepFailed as error:
        text = f"going back failed too: {error}\nmend that, then run pooldeckctl upgrade --undo"
        print(text, file=sys.stderr, flush=True)  # noqa: T201 (the terminal)
        return False
    upgrade.progress.report(f"{upgrade.entry.before} is current, as before")
    _note(upgrade, upgrade.old, f"failed in the step {upgrade.entry.step}, and went back")
    return True


def _upgrade(
    given: argparse.Namespace, layout: Layout, entry: Entry, progress: Progress, source: Source = NONE
) -> Upgrade:
    manager = services.named(given.service_manager)
    url = layout.url() if given.url is None else given.url.rstrip("/")
    return Upgrade(layout, manager, url, entry, source, progress, given.health_within)


@contextmanager
def _alone(layout: Layout) -> Iterator[None]:
    """Lock the installation. Raises `UpgradeRefused` where another upgrade has it."""
    try:
        descriptor = os.open(layout.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UpgradeRefused(f"{error}: run this as root, where script/install installed the panel") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise UpgradeRefused("another upgrade of this installation runs") from error
    try:
        yield
    finally:
        os.close(descriptor)
