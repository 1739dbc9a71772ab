"""The backups of the metadata database that upgrades make before they change anything."""

from pathlib import Path

FOLDER = Path("/var/backups/pooldeck")


def found_in(folder: Path) -> list[Path]:
    """Return those in a folder, called `before-VERSION-TIME`, the newest first."""
    found = [path for path in folder.glob("before-*-*") if path.is_dir()]
    return sorted(found, key=lambda path: path.name.rpartition("-")[2], reverse=True)
