"""Copies of the code in which a test changes something, then asks the changed panel."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.lib.env import BASE_DIR

COPIED = ("core", "panel", "pools", "benchmarks", "templates", "tests/settings.py", "manage.py", "pyproject.toml")
WITH_SERVERS = shutil.ignore_patterns("live", "browser", "bench", "*.pyc.*")
BEING_COMPILED = shutil.ignore_patterns("*.pyc.*")  # by another process: such a file is gone in a moment
PREAMBLE = """
import django; django.setup()
from django.core.management import call_command
from django.test.utils import setup_test_environment; setup_test_environment()
"""


@dataclass(frozen=True)
class CodeCopy:
    """A copy of the code, without its tests until they are asked for."""

    path: Path

    def make(self) -> None:
        """Copy, with what is compiled: it stands for files of these times and sizes."""
        for name in COPIED:
            source, target = BASE_DIR / name, self.path / name
            target.parent.mkdir(exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=BEING_COMPILED)
            else:
                shutil.copy(source, target)
        (self.path / "tests/__init__.py").touch()
        (self.path / "static").symlink_to(BASE_DIR / "static")

    def add(self, name: str, before: str, line: str) -> None:
        """Put a line in front of the only place where a text stands."""
        path = self.path / name
        text = path.read_text()
        assert text.count(before) == 1, f"{path} has {before!r} {text.count(before)} times"
        path.write_text(text.replace(before, f"{line}\n{before}"))

    def remove_folders(self, name: str) -> None:
        """Remove every folder of this name."""
        folders = [path for path in self.path.rglob(name) if path.is_dir() and not path.is_symlink()]
        assert folders, f"{self.path} has no folder {name}"
        for folder in folders:
            shutil.rmtree(folder)

    def remove_line(self, name: str, containing: str) -> None:
        """Remove the only line that contains a text."""
        path = self.path / name
        lines = path.read_text().splitlines(keepends=True)
        kept = [line for line in lines if containing not in line]
        assert len(lines) - len(kept) == 1, f"{path} has {containing!r} in {len(lines) - len(kept)} lines"
        path.write_text("".join(kept))

    def tests_without(self, word: str, *rooms: str) -> list[str]:
        """Copy the tests too, and return those modules of some rooms that don't contain a word."""
        if not (self.path / "tests/conftest.py").exists():
            shutil.copytree(BASE_DIR / "tests", self.path / "tests", ignore=WITH_SERVERS, dirs_exist_ok=True)
        modules = (path for room in rooms for path in sorted((self.path / "tests" / room).rglob("test_*.py")))
        return [str(path.relative_to(self.path)) for path in modules if word not in path.read_text().lower()]

    def run_tests(self, modules: Sequence[str]) -> None:
        """Run test modules of the changed copy in a process of their own, with the database that it has."""
        assert modules
        self.run("-m", "pytest", "-q", "--reuse-db", "-p", "no:cacheprovider", "-m", "not slow", *modules)

    def run(self, *argv: str) -> str:
        """Return what a Python with these words prints; fail where it does."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("POOLDECK_")}
        environment |= {"PYTHONPATH": str(self.path), "DJANGO_SETTINGS_MODULE": "tests.settings"}
        environment["POOLDECK_HOME"] = str(self.path / "home")
        # Without it the program would use another home.
        environment["POOLDECK_TEST_WORKER"] = os.environ.get("PYTEST_XDIST_WORKER", "")
        command = [sys.executable, *argv]
        done = subprocess.run(command, cwd=self.path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def check(self, script: str) -> None:
        """Run a script in the changed panel."""
        self.run("-c", PREAMBLE + script)
