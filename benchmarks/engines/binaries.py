"""Load programs that are found on the PATH, and what version they say they have."""

import re
import shutil
import subprocess
from dataclasses import dataclass

from benchmarks.errors import BenchmarksError

ANSWER_WITHIN_S = 10


class ProgramMissing(BenchmarksError):
    """A load program can't be run here; the message says what to install."""

    status = 503


@dataclass(frozen=True, slots=True)
class Program:
    """A program that answered; `version` is its first two numbers, (1, 0) of 1.0.20."""

    path: str
    version_text: str
    version: tuple[int, int]


def on_path(name: str, remedy: str) -> str:
    """The path of a program; raises `ProgramMissing` with the remedy."""
    if path := shutil.which(name):
        return path
    raise ProgramMissing(f"no {name} on the PATH of this host: {remedy}")


def ask(path: str, *words: str, reported: str) -> Program:
    """What it answers to these words, where `reported` (a pattern with one group) finds its version.

    Raises `ProgramMissing` where nothing such is answered.
    """
    try:
        answer = subprocess.run([path, *words], capture_output=True, text=True, timeout=ANSWER_WITHIN_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ProgramMissing(f"{path} can't be run ({error}): install it anew") from error
    found = re.search(reported, answer.stdout + answer.stderr)
    if not found:
        raise ProgramMissing(f"{path} answers {answer.stdout[:80]!r} to {' '.join(words)}: install another")
    numbers = [int(number) for number in re.findall("[0-9]+", found[1])]
    return Program(path, found[0], (numbers[0], numbers[1] if len(numbers) > 1 else 0))
