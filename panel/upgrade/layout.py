"""Where an installation lies: `releases/VERSION` are virtual environments, and the link `current` leads to one."""

import os
import pwd
import shutil
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from core.lib import upgrade_backups
from panel.upgrade import environment
from panel.upgrade.errors import UpgradeRefused
from panel.upgrade.release import COMPLETE, Release

KEPT_BACKUPS = 3


@dataclass(frozen=True)
class Layout:
    """The folders of one installation; without `user`, commands run as who upgrades."""

    prefix: Path
    environment_file: Path
    backups: Path
    user: str = ""

    @property
    def link(self) -> Path:
        """The link that units start programs by."""
        return self.prefix / "current"

    @property
    def journal(self) -> Path:
        """What an unfinished upgrade has done so far."""
        return self.prefix / "upgrade.json"

    @property
    def lock(self) -> Path:
        """The file that one upgrade at a time locks."""
        return self.prefix / "upgrade.lock"

    def release(self, version: str) -> Release:
        """Return the release of a version, whether or not it is installed."""
        return Release(self.prefix / "releases" / version, self.variables(), self._ids())

    def releases_before(self, version: str) -> list[Release]:
        """Return the whole releases that are older than a version, the newest first; other folders are none."""
        folders = [path.parent for path in (self.prefix / "releases").glob(f"*/{COMPLETE}")]
        found = {_version_of(folder): folder.name for folder in folders}
        older = sorted((one for one in found if one and one < Version(version)), reverse=True)
        return [self.release(found[one]) for one in older]

    def current_version(self) -> str:
        """Return which release is current. Raises `UpgradeRefused` where none is."""
        try:
            folder = self.link.resolve(strict=True)
        except OSError as error:
            raise UpgradeRefused(f"{self.link} leads to no release ({error}): run script/install first") from error
        return folder.name

    def switch(self, version: str) -> None:
        """Let `current` lead to a release; others see the old link or the new one, never none."""
        fresh = self.link.with_name("current.new")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(Path("releases") / version)
        fresh.replace(self.link)
        folder = os.open(self.prefix, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def variables(self) -> dict[str, str]:
        """Return the installation's variables; where there is no file, those of this process."""
        if not self.environment_file.exists():
            return dict(os.environ)
        found = environment.read(self.environment_file)
        person = {"SUDO_USER": os.environ["SUDO_USER"]} if "SUDO_USER" in os.environ else {}  # for the audit trail
        home = found.get("POOLDECK_HOME", "/")
        return {"PATH": environment.PATH, "LANG": "C.UTF-8", "HOME": home, **person, **found}

    def url(self) -> str:
        """Return where the web process of the units answers on this machine."""
        return f"http://127.0.0.1:{self.variables().get('POOLDECK_WEB_PORT') or 8000}"

    def backups_before_upgrades(self) -> list[Path]:
        """Return the backups that upgrades made, the newest first, by the time in their names."""
        return upgrade_backups.found_in(self.backups)

    def kept_backups(self) -> int:
        """Return how many of them stay. Raises `UpgradeRefused` for a setting that is no number from 1."""
        found = self.variables().get("POOLDECK_UPGRADE_BACKUPS") or str(KEPT_BACKUPS)
        if not found.isdigit() or int(found) < 1:
            raise UpgradeRefused(f"POOLDECK_UPGRADE_BACKUPS is {found}: use a number from 1")
        return int(found)

    def make_backup_folder(self) -> None:
        """Make the folder of backups, which belongs to the account that writes them."""
        self.backups.mkdir(mode=0o700, parents=True, exist_ok=True)
        if ids := self._ids():
            os.chown(self.backups, *ids)

    def free_bytes(self) -> int:
        """Return the free space for releases."""
        return shutil.disk_usage(self.prefix).free

    def _ids(self) -> tuple[int, int] | None:
        if not self.user or os.geteuid() != 0:
            return None
        try:
            account = pwd.getpwnam(self.user)
        except KeyError as error:
            raise UpgradeRefused(f"there is no account {self.user}: name the panel's with --user") from error
        return account.pw_uid, account.pw_gid


def _version_of(folder: Path) -> Version | None:
    """Return the version that a release's folder is named after; None for a folder of somebody's own."""
    try:
        return Version(folder.name)
    except InvalidVersion:
        return None
