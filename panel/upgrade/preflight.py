"""What is checked before an upgrade changes anything."""

import os
import shutil
from pathlib import Path

from panel.upgrade.errors import UpgradeRefused
from panel.upgrade.layout import Layout
from panel.upgrade.release import Release

ROOM_BYTES = 256 << 20
# A panel that is paused is upgraded as it is, and what a check warns of the new release warns of too.
BLOCKING = ("database", "migrations", "redis", "disk", "permissions", "schema")


def refuse_unfit(layout: Layout, old: Release, *, ignore_doctor: bool) -> None:
    """Raise `UpgradeRefused` where this account, the disk or the panel itself is not fit for an upgrade."""
    if not os.access(layout.prefix, os.W_OK):
        raise UpgradeRefused(f"{layout.prefix} can't be written by uid {os.geteuid()}: run this as root")
    if not shutil.which("setpriv"):
        raise UpgradeRefused("setpriv is not installed: install the package util-linux")
    _refuse_full_disk(layout, old)
    if not ignore_doctor:
        _refuse_unwell(old)


def _refuse_full_disk(layout: Layout, old: Release) -> None:
    needs = int(1.2 * old.size_bytes()) + ROOM_BYTES
    if (free := layout.free_bytes()) < needs:
        raise UpgradeRefused(f"{_mb(free)} are free at {layout.prefix}, and the release needs {_mb(needs)}: free space")
    existing = next(folder for folder in (layout.backups, *layout.backups.parents) if folder.exists())
    needs = 2 * _largest_backup_bytes(layout.backups) + ROOM_BYTES
    if (free := shutil.disk_usage(existing).free) < needs:
        raise UpgradeRefused(f"{_mb(free)} are free at {existing}, and the backup may need {_mb(needs)}: free space")


def _largest_backup_bytes(folder: Path) -> int:
    copies = folder.glob("*/metadata.*") if folder.is_dir() else iter(())
    return max((path.stat().st_size for path in copies), default=0)


def _refuse_unwell(old: Release) -> None:
    wrong = [one for one in old.doctor() if one["subject"] in BLOCKING and not one["is_ok"]]
    if wrong:
        lines = "".join(f"\n  {one['subject']}: {one['text']}\n    {one['remedy']}" for one in wrong)
        raise UpgradeRefused(f"the panel is not well (--ignore-doctor upgrades it nevertheless):{lines}")


def _mb(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"
