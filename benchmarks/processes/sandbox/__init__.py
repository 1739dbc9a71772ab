"""Sandbox for a program with a user's script: it reaches its own files and the network, but no other program.

The first mechanism that works on this host is used. Each is tried once per process: the program must start in it, and a
shell must not.
"""

import logging
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

from django.utils.translation import gettext as _

from benchmarks.errors import BenchmarksError
from benchmarks.processes.command import Command
from benchmarks.processes.process import with_setpriv
from benchmarks.processes.sandbox import bubblewrap, landlock
from benchmarks.processes.sandbox.needs import Needs, NotConfinable, needs_of
from benchmarks.processes.workdir import private_home

log = logging.getLogger(__name__)

MECHANISMS: tuple[ModuleType, ...] = (bubblewrap, landlock)
SHELL = "/bin/sh"
TRIAL_S = 10.0
_TRIAL_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


class NoSandbox(BenchmarksError):
    """No mechanism can confine the program; the message says what was tried and what helps."""

    status = 503


def confine(command: Command, home: Path) -> Command:
    """Put the command into a sandbox where required, its `shown` words without it; raise `NoSandbox`."""
    if not command.confined:
        return command
    starter, confined = command.argv[: command.confined_at], command.argv[command.confined_at :]
    mechanism = mechanism_for(confined[0], command.reads)
    words = mechanism.words(needs_of(confined[0], command.sockets, command.reads), home)
    return replace(command, argv=[*starter, *words, *confined], shown=command.argv)


@cache
def mechanism_for(program: str, reads: tuple[str, ...] = ()) -> ModuleType:
    """Return the first mechanism in which this program starts and a shell does not; raise `NoSandbox`."""
    try:
        needs = needs_of(program, reads=reads)
    except NotConfinable as error:
        raise NoSandbox(_("a script of your own needs a sandbox: %(error)s") % {"error": error}) from error
    refusals = []
    for mechanism in MECHANISMS:
        if not (why := _why_not(mechanism, needs)):
            log.info("scripts of users run in %s", mechanism.NAME)
            return mechanism
        refusals.append(why)
    raise NoSandbox(
        _(
            "a script of your own needs a sandbox, and none works here: %(refusals)s. Install bubblewrap, or "
            "use a kernel with Landlock (Linux 5.13); built-in scripts run without"
        )
        % {"refusals": "; ".join(refusals)}
    )


def _why_not(mechanism: ModuleType, needs: Needs) -> str:
    """Return why the mechanism can't be used; empty where it can. Tried with the load's account, as a run would."""
    with private_home("trial", "") as home:
        try:
            words = mechanism.words(needs, home)
            started = _run_trial([*words, needs.program, "--version"], home)
            shell = _run_trial([*words, SHELL, "-c", ":"], home)
        except NotConfinable as error:
            return str(error)
        except (OSError, subprocess.SubprocessError) as error:
            return _("%(sandbox)s fails (%(error)s)") % {"sandbox": mechanism.NAME, "error": error}
    lines = started.stderr.strip().splitlines()
    refusal = (lines or [_("no reason was given")])[-1] if started.returncode else ""
    return fault_of(mechanism, needs.program, refusal, shell_started=not shell.returncode)


def fault_of(mechanism: ModuleType, program: str, refusal: str, *, shell_started: bool) -> str:
    """Return the fault that a trial showed: it did not start the program, or it started a shell; empty for none.

    `refusal` is why it did not start the program (empty: it did).
    """
    words = {"sandbox": mechanism.NAME, "program": program, "error": refusal[:200], "shell": SHELL}
    if refusal:
        return _("%(sandbox)s does not start %(program)s (%(error)s)") % words
    return _("%(sandbox)s lets %(shell)s start") % words if shell_started else ""


def _run_trial(argv: list[str], home: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        with_setpriv(argv),
        env=_TRIAL_ENVIRONMENT,
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TRIAL_S,
        check=False,
        start_new_session=True,
    )
