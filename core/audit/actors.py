"""Who acts at the moment: a request's person or token, a task's worker, or the command line."""

import getpass
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from core.audit.models import ActorKind
from core.lib import env


class Actor(NamedTuple):
    """Who acts; `id` is a person's, a token's, or empty."""

    kind: ActorKind
    name: str
    id: str = ""


@dataclass
class Origin:
    """Where acts come from. A request's answers anew each time: its person may sign in while it is served."""

    actor: Actor
    source: str = ""
    reason: str = ""
    recorded: int = 0  # how many entries were made
    asked_by: str = ""  # who asked for what a second person lets happen

    def who(self) -> Actor:
        """Return who acts now."""
        return self.actor


# what `python -m` starts for those who call something else
NAMED = {"panel.quickstart": "script/up" if env.IS_CHECKOUT else "pooldeck demo"}
NAMED |= {"panel.upgrade": "pooldeckctl upgrade", "panel.web_server": "web server", "celery": "celery"}

_origin: ContextVar[Origin | None] = ContextVar("audit_origin", default=None)

_of_process: dict[str, Origin] = {}


def current() -> Origin:
    """Return the origin of what runs now: that of `acting`, else the process's own, else the command line."""
    return _origin.get() or _of_process.get("origin") or _of_command_line()


@contextmanager
def acting(origin: Origin) -> Iterator[Origin]:
    """Let what runs inside be recorded with this origin."""
    token = _origin.set(origin)
    try:
        yield origin
    finally:
        _origin.reset(token)


@contextmanager
def for_another(name: str, reason: str = "") -> Iterator[None]:
    """Let what runs inside be recorded for the one who acts now and for the one who asked for it, with their reason."""
    origin = current()
    before = origin.asked_by, origin.reason
    origin.asked_by, origin.reason = name, reason or origin.reason
    try:
        yield
    finally:
        origin.asked_by, origin.reason = before


@contextmanager
def because(reason: str) -> Iterator[None]:
    """Let what runs inside be recorded with this reason."""
    with acting(replace(current(), reason=reason)):
        yield


def set_of_process(origin: Origin) -> None:
    """Let what no task or request does be recorded with this origin, such as what a worker's threads do."""
    _of_process["origin"] = origin


def begin(origin: Origin) -> None:
    """Let what runs from now on in this thread be recorded with this origin; for hooks that have two ends."""
    _origin.set(origin)


def end() -> None:
    """Undo `begin`."""
    _origin.set(None)


def _of_command_line() -> Origin:
    return Origin(Actor(ActorKind.COMMAND, account()), f"{socket.gethostname()}: {program()}"[:255])


def program() -> str:
    """Return what was called, as people call it, with the name of its command; further words may be secrets.

    A program that was started by `python -m` has the path of a file as its first word: it is named by its module.
    """
    module = getattr(getattr(sys.modules.get("__main__"), "__spec__", None), "name", "").removesuffix(".__main__")
    name = NAMED.get(module) or (f"python -m {module}" if module else Path(sys.argv[0]).name)
    if name == "-c":  # as a script that was given in words has
        return "python -c"
    command = next(iter(sys.argv[1:2]), "")
    return name if command.startswith("-") else f"{name} {command}".rstrip()


def account() -> str:
    """Return the name of the account that this process runs as."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as containers have
        return "unknown"
