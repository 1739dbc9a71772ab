"""Where a program runs that was given a user's script: its own files and the network, and no other program.

The first of these ways that works on this host is taken; it is tried out once a process: the program must start in it,
and a shell must not.
"""

import logging
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

from benchmarks.errors import BenchmarksError
from benchmarks.processes.command import Command
from benchmarks.processes.process import wrapped
from benchmarks.processes.sandbox import bubblewrap, landlock
from benchmarks.processes.sandbox.needs import Needs, NotConfinable, needs_of
from benchmarks.processes.workdir import private_home

log = logging.getLogger(__name__)

MECHANISMS: tuple[ModuleType, ...] = (bubblewrap, landlock)
SHELL = "/bin/sh"
TRIAL_S = 10.0
_TRIAL_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


class NoSandbox(BenchmarksError):
    """Nothing here can confine the program; the message says what was tried and what helps."""

    status = 503


def confine(command: Command, home: Path) -> Command:
    """The command in a sandbox where it must be, its `shown` words without it; raises `NoSandbox`."""
    if not command.confined:
        return command
    starter, confined = command.argv[: command.confined_at], command.argv[command.confined_at :]
    mechanism = mechanism_for(confined[0], command.reads)
    words = mechanism.words(needs_of(confined[0], command.sockets, command.reads), home)
    return replace(command, argv=[*starter, *words, *confined], shown=command.argv)


@cache
def mechanism_for(program: str, reads: tuple[str, ...] = ()) -> ModuleType:
    """The first way in which this program starts and a shell does not; raises `NoSandbox`."""
    try:
        needs = needs_of(program, reads=reads)
    except NotConfinable as error:
        raise NoSandbox(f"a script of your own needs a sandbox, and {error}") from error
    refusals = []
    for mechanism in MECHANISMS:
        if not (why := _why_not(mechanism, needs)):
            log.info("scripts of users run in %s", mechanism.NAME)
            return mechanism
        refusals.append(f"{mechanism.NAME} {why}")
    raise NoSandbox(
        f"a script of your own needs a sandbox, and none works here: {'; '.join(refusals)}. Install bubblewrap, or use "
        "a kernel with Landlock (Linux 5.13); built-in scripts run without"
    )


def _why_not(mechanism: ModuleType, needs: Needs) -> str:
    """Why the sandbox can't be used, empty where it can: tried as the load's account, as a run would."""
    with private_home("trial", "") as home:
        try:
            words = mechanism.words(needs, home)
            started = _tried([*words, needs.program, "--version"], home)
            shell = _tried([*words, SHELL, "-c", ":"], home)
        except (NotConfinable, OSError, subprocess.SubprocessError) as error:
            return f"fails ({error})"
    if started.returncode:
        reported = (started.stderr.strip().splitlines() or ["no reason was given"])[-1]
        return f"does not start {needs.program} ({reported[:200]})"
    return "" if shell.returncode else f"lets {SHELL} start"


def _tried(argv: list[str], home: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        wrapped(argv),
        env=_TRIAL_ENVIRONMENT,
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TRIAL_S,
        check=False,
        start_new_session=True,
    )
