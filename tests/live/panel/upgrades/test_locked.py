"""A release gets the versions and hashes that its wheel holds, by pip and from a folder that stands for an index."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from panel.upgrade.errors import StepFailed
from panel.upgrade.release import LOCKED, Release, Source


def wheel(folder: Path, name: str, version: str, needs: str = "", locked: str = "") -> Path:
    """Write a wheel that has nothing but its own name, what it needs, and what it is locked to."""
    path, meta = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        required = f"Requires-Dist: {needs}\n" if needs else ""
        archive.writestr(f"{meta}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}")
        archive.writestr(f"{meta}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{meta}/RECORD", "")
        if locked:
            archive.writestr(LOCKED, locked)
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes for its index, with two versions of what the panel needs."""
    folder = tmp_path / "index"
    folder.mkdir()
    for version in ("1.0", "2.0"):
        wheel(folder, "needed", version)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def line(path: Path) -> str:
    name, version, *_ = path.name.split("-")
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def installed(folder: Path, source: Source) -> set[str]:
    """Install a release, and return what it has beside pip and setuptools."""
    Release(folder, {}).install(source)
    found = {path.name.removesuffix(".dist-info") for path in folder.glob("lib/*/site-packages/*.dist-info")}
    return {name for name in found if not name.startswith(("pip-", "setuptools-"))}


@pytest.mark.parametrize("word", ["wheel", "version"])
def test_a_release_has_what_its_wheel_holds(tmp_path: Path, index: Path, word: str) -> None:
    built = wheel(index, "pooldeck", "3.0", "needed", line(index / "needed-1.0-py3-none-any.whl"))
    source = Source(str(built) if word == "wheel" else "pooldeck==3.0")
    assert installed(tmp_path / "release", source) == {"pooldeck-3.0", "needed-1.0"}


def test_a_file_of_requirements_stands_in_for_those_of_the_wheel(tmp_path: Path, index: Path) -> None:
    built = wheel(index, "pooldeck", "3.0", "needed", line(index / "needed-1.0-py3-none-any.whl"))
    given = tmp_path / "requirements.txt"
    given.write_text(line(index / "needed-2.0-py3-none-any.whl"))
    assert installed(tmp_path / "release", Source(str(built), str(given))) == {"pooldeck-3.0", "needed-2.0"}


def test_a_wheel_without_any_gets_the_newest(tmp_path: Path, index: Path) -> None:
    built = wheel(index, "pooldeck", "3.0", "needed")
    assert installed(tmp_path / "release", Source(str(built))) == {"pooldeck-3.0", "needed-2.0"}


def test_another_file_of_the_same_version_is_refused(tmp_path: Path, index: Path) -> None:
    locked = line(index / "needed-1.0-py3-none-any.whl")
    with zipfile.ZipFile(index / "needed-1.0-py3-none-any.whl", "a") as archive:
        archive.writestr("added.py", "")
    built = wheel(index, "pooldeck", "3.0", "needed", locked)
    with pytest.raises(StepFailed, match="THESE PACKAGES DO NOT MATCH THE HASHES"):
        Release(tmp_path / "release", {}).install(Source(str(built)))


def test_a_file_that_is_no_wheel_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pooldeck-3.0-py3-none-any.whl"
    path.write_text("an error page of a proxy")
    with pytest.raises(StepFailed, match=f"{path}: File is not a zip file"):
        Release(tmp_path / "release", {}).install(Source(str(path)))
