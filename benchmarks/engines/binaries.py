"""Finds load programs on the PATH, and asks them for their version."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation import gettext as _

from benchmarks.engines.process_environment import minimal_environment
from benchmarks.errors import BenchmarksError

ANSWER_WITHIN_S = 10


class ProgramMissing(BenchmarksError):
    """A load program that can't be run here; the message says what to install."""

    status = 503


@dataclass(frozen=True, slots=True)
class Program:
    """A program that was found; `version` is its first two numbers, (1, 0) for 1.0.20."""

    path: str
    version_text: str
    version: tuple[int, int]


def on_path(name: str, remedy: str) -> str:
    """Return the path of a program; raise `ProgramMissing` with the remedy."""
    if path := shutil.which(name):
        return path
    raise ProgramMissing(_("no %(name)s on the PATH of this host: %(remedy)s") % {"name": name, "remedy": remedy})


def answer_of(path: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run the program with these words, without the worker's environment; raise OSError or SubprocessError."""
    return subprocess.run(
        [path, *words],
        env=minimal_environment(Path("/")),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=ANSWER_WITHIN_S,
        check=True,
    )


def ask(path: str, *words: str, pattern: str) -> Program:
    """Run the program with these words, and find its version in the answer by `pattern`, whose group is the version.

    Raises `ProgramMissing` where the answer holds none.
    """
    try:
        answer = answer_of(path, *words)
    except (OSError, subprocess.SubprocessError) as error:
        raise ProgramMissing(
            _("%(path)s can't be run (%(error)s): reinstall it") % {"path": path, "error": error}
        ) from error
    found = re.search(pattern, answer.stdout + answer.stderr)
    if not found:
        raise ProgramMissing(
            _("%(path)s answers %(stdout)s to %(words)s: install another")
            % {"path": path, "stdout": repr(answer.stdout[:80]), "words": " ".join(words)}
        )
    numbers = [int(number) for number in re.findall("[0-9]+", found[1])]
    return Program(path, found[0], (numbers[0], numbers[1] if len(numbers) > 1 else 0))
