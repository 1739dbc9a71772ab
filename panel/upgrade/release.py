"""One release: a virtual environment with the wheel in it, and the commands that it runs as the panel's account."""

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from panel.upgrade.errors import StepFailed

LOCKED = "panel/share/requirements.txt"  # a wheel has it: hatch_build.py exports uv.lock to it
COMPLETE = ".complete"  # tells script/install that this release needs no repair
LAST_LINES = 12
READABLE, PRIVATE = 0o022, 0o077  # umasks: the panel's account reads a release; what its commands write is its own
DIES_WITH_PARENT = ("setpriv", "--pdeathsig=KILL")


@dataclass(frozen=True)
class Source:
    """What a release is installed from, and by what.

    `requirement` is a wheel or `pooldeck==VERSION`; `locked` a file of pip's with the versions and hashes of what it
    needs, in place of those that the wheel holds; `installer` a command that makes the environment in place of venv and
    pip: `INSTALLER FOLDER REQUIREMENT`.
    """

    requirement: str = ""
    locked: str = ""
    installer: str = ""


@dataclass(frozen=True)
class Release:
    """`ids`: user and group that its commands run as; None is who upgrades."""

    folder: Path
    variables: dict[str, str]
    ids: tuple[int, int] | None = None

    @property
    def version(self) -> str:
        """Its version, which names its folder."""
        return self.folder.name

    def size_bytes(self) -> int:
        """Return the size of its files."""
        return sum(path.lstat().st_size for path in self.folder.rglob("*"))

    def install(self, source: Source) -> None:
        """Install it into a new environment, in place of what lies there. Raises `StepFailed`.

        What a killed upgrade left is never taken for a whole release.
        """
        if self.folder.exists():
            shutil.rmtree(self.folder)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        if source.installer:
            _run([*shlex.split(source.installer), str(self.folder), source.requirement])
        else:
            self._install_by_pip(source)
        (self.folder / COMPLETE).touch()

    def _install_by_pip(self, source: Source) -> None:
        _run([_system_python(), "-m", "venv", str(self.folder)])
        with tempfile.TemporaryDirectory() as folder:
            wheel = self._wheel(source.requirement, Path(folder))
            locked = source.locked or locked_by(wheel, Path(folder))
            if locked:
                self._pip("install", "--require-hashes", "--requirement", locked)
            self._pip("install", *(["--no-deps"] if locked else []), str(wheel))

    def _wheel(self, requirement: str, folder: Path) -> Path:
        """Return the wheel's path; where a version is required, pip brings its wheel into that folder."""
        if requirement.endswith(".whl"):
            return Path(requirement)
        self._pip("download", "--no-deps", "--only-binary=pooldeck", "--dest", str(folder), requirement)
        (found,) = folder.glob("*.whl")
        return found

    def _pip(self, *words: str) -> None:
        python = str(self.folder / "bin" / "python")
        _run([python, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet", *words])

    def remove(self) -> None:
        """Delete the release's folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def manage(self, *words: str) -> str:
        """Run one of its commands and return what it printed. Raises `StepFailed` with its last lines."""
        return _run(self._command(words), self.variables, self.folder, PRIVATE)

    def doctor(self) -> list[dict[str, object]]:
        """Return the answers of its doctor; empty for a release that has none."""
        done = subprocess.run(
            self._command(["doctor", "--json"]),
            env=self.variables,
            cwd=self.folder,
            capture_output=True,
            text=True,
            umask=PRIVATE,
        )
        try:
            found = json.loads(done.stdout)
        except ValueError:
            return []
        return found if isinstance(found, list) else []

    def _command(self, words: Sequence[str]) -> list[str]:
        change = [f"--reuid={self.ids[0]}", f"--regid={self.ids[1]}", "--init-groups"] if self.ids else []
        return [*DIES_WITH_PARENT, *change, "--", str(self.folder / "bin" / "pooldeckctl"), *words]


def locked_by(wheel: Path, folder: Path) -> str:
    """Put the versions and hashes that a wheel holds into that folder; return the file's path, empty where it has none.

    Raises `StepFailed` for a file that is no wheel.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.extract(LOCKED, folder)
    except KeyError:
        return ""
    except (OSError, zipfile.BadZipFile) as error:
        raise StepFailed(f"{wheel}: {error}") from error


def _system_python() -> str:
    """Return the Python that this environment was made of: releases must outlive each other."""
    return str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")


def _run(
    argv: Sequence[str], variables: dict[str, str] | None = None, cwd: Path | None = None, umask: int = READABLE
) -> str:
    words = argv if argv[0] == DIES_WITH_PARENT[0] else [*DIES_WITH_PARENT, "--", *argv]
    try:
        done = subprocess.run(words, env=variables, cwd=cwd, capture_output=True, text=True, umask=umask)
    except OSError as error:
        raise StepFailed(f"{argv[0]}: {error}") from error
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-LAST_LINES:])
        raise StepFailed(f"{' '.join(argv)} ended with exit code {done.returncode}:\n{tail}")
    return done.stdout
