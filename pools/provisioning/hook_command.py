"""Runs a command of the operator's: JSON on its standard input, JSON on its standard output, no shell."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, cast

from django.utils.translation import gettext as _

from core.lib import env
from pools.inventory.clusters import ClusterValues

MOST_BYTES = 1024 * 1024
LONGEST_REASON = 500
KILL_AFTER_S = 5.0
TEXTS = ("host", "admin_user", "admin_password")
OPTIONAL = ("maintenance_database", "sslmode", "sslrootcert")


class HookFailed(Exception):
    """The command did not do its work; the message says why, without what it printed on its standard output."""


class HookCommand:
    """A running command, in a group of its own that is ended after `within_s`, or with the worker's process.

    Its output goes into memory files rather than pipes: a server that it leaves running may hold them open.
    """

    def __init__(self, words: Sequence[str], request: Mapping[str, Any], within_s: float) -> None:
        """Start it; raises `HookFailed` where it can't be started."""
        self.within_s, self._deadline = within_s, time.monotonic() + within_s
        self._stopped_because = ""
        self._stdout, self._stderr = _memory_file(), _memory_file()
        try:
            with _memory_file(json.dumps(request).encode()) as stdin:
                self._child = _start(words, stdin, self._stdout, self._stderr)
        except OSError as error:
            self._close()
            raise HookFailed(_("the command could not be started: %(error)s") % {"error": error}) from None

    def has_ended(self) -> bool:
        """Tell whether it has ended; end it by TERM, then KILL, where it takes too long or prints too much."""
        if self._child.poll() is not None:
            return True
        now = time.monotonic()
        if self._stopped_because:
            if now > self._deadline + KILL_AFTER_S:
                self._signal(signal.SIGKILL)
        elif problem := self._excess(now):
            self._stopped_because, self._deadline = problem, now
            self._signal(signal.SIGTERM)
        return False

    def stop(self) -> None:
        """End it at once."""
        if self._child.poll() is None:
            self._signal(signal.SIGKILL)
            self._child.wait()
        self._close()

    def output(self) -> bytes:
        """Return the command's output after its end, once; raises `HookFailed` where it did not succeed."""
        printed, stderr = _content(self._stdout), _content(self._stderr)
        self._close()
        if self._stopped_because:
            self._signal(signal.SIGKILL)  # Other processes of its group may be left.
            raise HookFailed(self._stopped_because)
        if self._child.returncode:
            raise HookFailed(_why_failed(self._child.returncode, printed, stderr))
        return printed

    def _excess(self, now: float) -> str:
        if now > self._deadline:
            return _("the command did not end within %(seconds)s s") % {"seconds": self.within_s}
        if max(os.fstat(one.fileno()).st_size for one in (self._stdout, self._stderr)) > MOST_BYTES:
            return _("the command printed more than %(bytes)s bytes") % {"bytes": MOST_BYTES}
        return ""

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._child.pid, number)

    def _close(self) -> None:
        self._stdout.close()
        self._stderr.close()


def created(output: bytes) -> ClusterValues:
    """Read the answer of a command that created a cluster into the values of `clusters.register`.

    Raises `HookFailed`, whose message quotes no value: the answer holds a password.
    """
    try:
        found = json.loads(output)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise HookFailed(_("the command printed no JSON object on its standard output"))
    for name in (*TEXTS, *OPTIONAL):
        is_needed = name in TEXTS or found.get(name) is not None
        if is_needed and not _is_text(found.get(name)):
            raise HookFailed(
                _("%(name)s in the command's answer is not a text: print it as a JSON string") % {"name": name}
            )
    if not isinstance(port := found.get("port"), int) or isinstance(port, bool):
        raise HookFailed(
            _("%(name)s in the command's answer is not a whole number: print it as a JSON number") % {"name": "port"}
        )
    values = {name: found[name] for name in (*TEXTS, "port", *OPTIONAL) if found.get(name) is not None}
    return cast(ClusterValues, values)


def _start(words: Sequence[str], stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        ["setpriv", "--pdeathsig=TERM", "--", *words],  # noqa: S607 (on the PATH)
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=env.of_other_programs(),
        cwd="/",
        start_new_session=True,
    )


def _why_failed(code: int, printed: bytes, stderr: bytes) -> str:
    lines = stderr.decode(errors="replace").replace("\0", " ").strip().splitlines()
    if not lines:
        text = _("the command ended with code %(code)s and printed no reason on its standard error")
        return text % {"code": code}
    reason = _without_password(lines[-1], printed)[:LONGEST_REASON]
    return _("the command ended with code %(code)s: %(reason)s") % {"code": code, "reason": reason}


def _without_password(line: str, printed: bytes) -> str:
    """Return the line without the password, where the command printed its answer before it failed."""
    with suppress(ValueError, AttributeError, RecursionError):
        password = json.loads(printed).get("admin_password")
        return line.replace(password, "…") if password and isinstance(password, str) else line
    return line


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        return bool(value.encode())
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def _memory_file(content: bytes = b"") -> IO[bytes]:
    file: IO[bytes] = os.fdopen(os.memfd_create("pooldeck"), "w+b")
    file.write(content)
    file.seek(0)
    return file


def _content(file: IO[bytes]) -> bytes:
    """Return the whole file, whatever position the command left it at."""
    return os.pread(file.fileno(), MOST_BYTES, 0)
