"""Commands of the command line in the trail: each that changes something, or shows what is stored, leaves entries.

The entries name the command and the person of the operating system who gave it. One is written before the command
begins and one with its outcome, so that one that was killed is seen too.
"""

import logging
import pwd
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from django.core.management import BaseCommand
from django.db import DatabaseError

from core.audit.actors import Actor, Origin, account, acting
from core.audit.models import ActorKind
from core.audit.recording import ASKED, DONE, Subject, record
from core.audit.tracking import ANNOUNCED
from core.lib import env

logger = logging.getLogger(__name__)

ACTION = "command.run"
ANNOUNCED.add(ACTION)
LOGIN = Path("/proc/self/loginuid")  # who logged in, whatever account they became since: pam_loginuid(8)
NOBODY_LOGGED_IN = 2**32 - 1
# Of each command it is written here whether it is recorded; one that stands nowhere is.
CHANGES = frozenset(
    {
        "account_unsetmultipleprimaryemails",
        "admin-link",
        "axes_reset",
        "axes_reset_failure_logs",
        "axes_reset_ip",
        "axes_reset_ip_username",
        "axes_reset_logs",
        "axes_reset_username",
        "backup",
        "changepassword",
        "clearsessions",
        "createcachetable",
        "createsuperuser",
        "dbshell",
        "dumpdata",  # prints what is stored
        "flush",
        "loaddata",
        "migrate",
        "note-upgrade",
        "remove_stale_contenttypes",
        "reset-second-factor",
        "restore",
        "rotate_keys",
        "shell",
    }
)
READS = frozenset(
    {
        "axes_list_attempts",
        "check",
        "collectstatic",  # files of pages, made anew from the release
        "compilemessages",
        "diffsettings",
        "doctor",
        "findstatic",
        "generateschema",
        "inspectdb",
        "makemessages",
        "makemigrations",
        "optimizemigration",
        "runserver",
        "sendtestemail",
        "showmigrations",
        "spectacular",
        "sqlflush",
        "sqlmigrate",
        "sqlsequencereset",
        "squashmigrations",
        "startapp",
        "startproject",
        "test",
        "testserver",
        "verify_audit",
    }
)
# with one of these options, the command changes nothing
READ_ONLY_OPTIONS = {"migrate": ("check_unapplied", "plan"), "rotate_keys": ("status",)}


def let_record(name: str, command: BaseCommand) -> None:
    """Let a command be recorded when it is carried out, unless it only reads."""
    if name not in READS:
        command.execute = recorded(name, command.execute)  # type: ignore[method-assign]


def recorded(name: str, carry_out: Callable[..., str | None]) -> Callable[..., str | None]:
    """Return what carries a command out and records it; see `BaseCommand.execute`."""

    def execute_and_record(*words: object, **options: object) -> str | None:
        if any(options.get(option) for option in READ_ONLY_OPTIONS.get(name, ())):
            return carry_out(*words, **options)
        with acting(_origin(name)), _recorded(name):
            return carry_out(*words, **options)

    return execute_and_record


def record_if_possible(
    action: str, subject: Subject, after: Mapping[str, object] | None = None, outcome: str = DONE
) -> bool:
    """Record an act that happens whether or not it can be recorded; return whether it was.

    The metadata database may be down, not migrated yet, or of another release: a restore is there to mend that.
    """
    try:
        record(action, subject, after=after, outcome=outcome)
    except DatabaseError as error:
        logger.info("%s is not in the audit trail: %s", action, error)
        return False
    return True


@contextmanager
def _recorded(name: str) -> Iterator[None]:
    subject = Subject("command", name, name)
    record_if_possible(ACTION, subject, outcome=ASKED)
    try:
        yield
    except BaseException as error:
        record_if_possible(ACTION, subject, outcome=f"failed: {error or type(error).__name__}")
        raise
    if not record_if_possible(ACTION, subject):
        logger.warning("the audit trail has no entry of the command %s: the metadata database did not take it", name)


def _origin(name: str) -> Origin:
    return Origin(Actor(ActorKind.COMMAND, f"{name} by {who()}"), socket.gethostname())


def who() -> str:
    """Return the person who gave the command, and the account that it runs as where that is another one."""
    person, runs_as = _person(), account()
    return f"{person} as {runs_as}" if person not in ("", runs_as) else runs_as


def _person() -> str:
    """Return who logged in, else who called sudo; empty where nobody did, as for a timer."""
    try:
        number = int(LOGIN.read_text())
        return pwd.getpwuid(number).pw_name if number != NOBODY_LOGGED_IN else env.caller_of_sudo()
    except (OSError, ValueError, KeyError):
        return env.caller_of_sudo()
