"""What an unfinished upgrade has done, on disk before each step: kill -9 or a power cut lose none of it."""

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from panel.upgrade.errors import UpgradeRefused


@dataclass(frozen=True)
class Entry:
    """`step` is the one that was begun last; `backup` is empty until a whole one exists."""

    before: str
    after: str
    step: str
    backup: str = ""

    def at(self, step: str) -> Self:
        """Return the entry as that step begins."""
        return replace(self, step=step)


def read(path: Path) -> Entry | None:
    """Return the entry of an unfinished upgrade, None where there is none. Raises `UpgradeRefused`."""
    try:
        return Entry(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise UpgradeRefused(f"{path} can't be read ({error}): it says what an unfinished upgrade did") from error


def write(path: Path, entry: Entry) -> None:
    """Replace the entry, and return once it is on disk."""
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w") as file:
        file.write(json.dumps(asdict(entry), indent=2) + "\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    _sync(path.parent)


def remove(path: Path) -> None:
    """Forget the upgrade, as it is complete or undone."""
    path.unlink(missing_ok=True)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
