"""The sandbox of a load on a host that is reached by SSH: bubblewrap as here, with what is found on that host.

It is tried there before each load that needs it: the program must start in it, and a shell must not.
"""

from dataclasses import replace
from pathlib import Path

from django.utils.translation import gettext as _

from benchmarks.processes.command import Command
from benchmarks.processes.sandbox import SHELL, NoSandbox, bubblewrap, fault_of
from benchmarks.processes.sandbox.needs import LISTING_LIBRARIES, SYSTEM_FILES, Needs, NotConfinable, libraries_in
from pools.hosts.ssh import SshConnection

# prints the path of bwrap, and those of the files that are there; an account's shell may print other lines before
_FIND = 'echo "bwrap $(command -v bwrap)"; for file; do [ -e "$file" ] && echo "file $file"; done; :'


def confine(command: Command, connection: SshConnection, home: Path) -> Command:
    """Put the command into a sandbox, its `shown` words without it; raise `NoSandbox` where none works there."""
    program = command.argv[command.confined_at]
    try:
        words = _tried(_needs(command, program, connection), connection, home)
    except NotConfinable as error:
        text = _(
            "a script of your own needs a sandbox, and none works on host %(host)s: %(reason)s. Install bubblewrap "
            "there and allow it user namespaces, or use a generator that is a worker; built-in scripts run without"
        )
        raise NoSandbox(text % {"host": connection.client.hop.name, "reason": error}) from error
    starter, confined = command.argv[: command.confined_at], command.argv[command.confined_at :]
    return replace(command, argv=[*starter, *words, *confined], shown=command.argv)


def _needs(command: Command, program: str, connection: SshConnection) -> tuple[str, Needs]:
    """Return the path of bwrap there, and what the program needs there; raise `NotConfinable`."""
    found = connection.run(["sh", "-c", _FIND, "find", *SYSTEM_FILES, *command.reads])
    lines = [line.partition(" ") for line in found.stdout.decode(errors="replace").splitlines()]
    bwrap = next((path for kind, _space, path in lines if kind == "bwrap" and path.startswith("/")), "")
    if not bwrap:
        raise NotConfinable(_("bubblewrap is not installed"))
    files = [path for kind, _space, path in lines if kind == "file"]
    loader, folders = libraries_in(_listing(program, connection), program)
    return bwrap, Needs(program, loader, (*folders, *files), command.sockets)


def _listing(program: str, connection: SshConnection) -> str:
    """Return the libraries of the program; in the connection's environment the loader would list those of `timeout`."""
    variables = [f"{name}={value}" for name, value in LISTING_LIBRARIES.items()]
    return connection.run(["env", *variables, program]).stdout.decode(errors="replace")


def _tried(found: tuple[str, Needs], connection: SshConnection, home: Path) -> list[str]:
    """Return the words of a sandbox in which the program starts and no shell; raise `NotConfinable`."""
    bwrap, needs = found
    words = bubblewrap.words_of(bwrap, needs, home)
    started = connection.run([*words, needs.program, "--version"], folder=str(home))
    shell = connection.run([*words, SHELL, "-c", ":"], folder=str(home))
    refusal = (started.words or _("no reason was given")) if started.exit_code else ""
    if fault := fault_of(bubblewrap, needs.program, refusal, shell_started=not shell.exit_code):
        raise NotConfinable(fault)
    return words
