"""Versions of releases, and which may follow which."""

from dataclasses import dataclass
from pathlib import Path

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from panel.upgrade.errors import UpgradeRefused


@dataclass(frozen=True)
class Target:
    """What is upgraded to: its version, and what pip is given for it."""

    version: str
    requirement: str


def target(word: str) -> Target:
    """Return the release that the path of a wheel or a version names. Raises `UpgradeRefused`."""
    if word.endswith(".whl"):
        return _of_wheel(Path(word))
    try:
        version = str(Version(word))
    except InvalidVersion as error:
        raise UpgradeRefused(f"{word!r} is neither a version nor a wheel (pooldeck-VERSION-….whl)") from error
    return Target(version, f"pooldeck=={version}")


def _of_wheel(path: Path) -> Target:
    try:
        name, version, *_tags = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise UpgradeRefused(f"{path.name}: {error}") from error
    if name != "pooldeck":
        raise UpgradeRefused(f"{path.name} is a wheel of {name}, not of pooldeck")
    if not path.is_file():
        raise UpgradeRefused(f"there is no file {path}")
    return Target(str(version), str(path.resolve()))


def refuse_backwards(before: str, after: str) -> None:
    """Raise `UpgradeRefused` where the target is the current release or an older one."""
    if before == after:
        raise UpgradeRefused(f"{after} is the current release already")
    try:
        is_older = Version(after) < Version(before)
    except InvalidVersion as error:
        raise UpgradeRefused(
            f"the current release lies in a folder that is not named after its version: {error}"
        ) from error
    if is_older:
        raise UpgradeRefused(
            f"{after} is older than the current release {before}: its code does not know what newer migrations made of "
            f"the metadata database. Install {after} anew and restore a backup that {after} made"
        )
