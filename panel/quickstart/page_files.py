"""Static files, collected into the home if their sources have changed since the last start."""

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from core.lib.env import BASE_DIR, SHARE_DIR
from panel.quickstart.home import Home
from panel.quickstart.programs import ProgramFailed
from panel.quickstart.progress import Steps

FOLDERS = ("css", "js", "img")
PACKAGES = ("django", "django-htmx", "drf-spectacular-sidecar")
COMMAND = [sys.executable, "-m", "django", "collectstatic", "--noinput", "--clear", "--verbosity=0"]


def collect(home: Home, steps: Steps) -> None:
    """Update STATIC_ROOT before the web process reads its manifest; raises `ProgramFailed`."""
    sources = stamp()
    if home.kept("pages", "sources") == sources and (home.path / "static" / "staticfiles.json").exists():
        return
    steps.report("collecting static files")
    finished = subprocess.run(COMMAND, cwd=BASE_DIR, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise ProgramFailed(f"{' '.join(COMMAND[1:])} ended with exit code {finished.returncode}:\n{finished.stderr}")
    home.keep("pages", "sources", sources)


def stamp() -> str:
    """Return a hash of our files, of the list of what is collected, and of the libraries' versions."""
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(f"{path.name}\n".encode() + path.read_bytes())
    for package in PACKAGES:
        digest.update(f"{package} {version(package)}\n".encode())
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    yield BASE_DIR / "panel" / "staticfiles.py"
    yield SHARE_DIR / "static" / "package-lock.json"
    for folder in FOLDERS:
        yield from sorted(path for path in (SHARE_DIR / "static" / folder).rglob("*") if path.is_file())
