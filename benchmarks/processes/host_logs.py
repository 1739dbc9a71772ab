"""The logs that a load writes on a host: sent here over the kept login while it writes them, and freed there.

What is sent waits in memory until it is read here, at most `HELD_BYTES`.
"""

import fnmatch
import re
import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue
from typing import IO

from django.utils.translation import gettext as _

from benchmarks.processes.host_helper import HostHelper
from benchmarks.processes.logs import Chunk, LogSource

PIECE_BYTES = 1 << 20
HELD_BYTES = 64 << 20
CAUGHT_UP_WITHIN_S = 0.3  # A progress line waits this long, so that its interval has its percentiles at once.
ASKED_EACH_S = 1.0
FINISHED_WITHIN_S = 10.0
_PIECE = re.compile(r"(?P<name>[\w.-]{1,200}) (?P<bytes>[0-9]{1,7})")


class HostLogs(LogSource):
    """The logs by a pattern of their names, as the script `follow_logs.sh` sends them."""

    def __init__(self, helper: HostHelper, pattern: str, host: str, clock_ahead_s: float) -> None:
        self.clock_ahead_s = clock_ahead_s
        self._helper, self._pattern, self._host = helper, pattern, host
        self._came: SimpleQueue[Chunk] = SimpleQueue()
        self._held_bytes, self._counting = 0, threading.Lock()
        self._fault = ""  # why some of it is missing
        self._answered = threading.Event()
        self._asked_at = 0.0
        self._reader = threading.Thread(target=self._read, name=f"logs of host {host}", daemon=True)
        if (answer := helper.greeting("logs")) == "ready":
            self._answered.set()
            self._reader.start()
        else:
            text = _("host %(host)s can't free the parts of a log that were read: %(reason)s")
            self.why_not = text % {"host": host, "reason": answer or _("the connection was lost")}

    def appended(self) -> Iterator[Chunk]:
        if time.monotonic() - self._asked_at > ASKED_EACH_S:
            self._ask()
        while not self._came.empty():
            name, chunk = self._came.get()
            with self._counting:
                self._held_bytes -= len(chunk)
            yield name, chunk
        if self._fault:
            raise OSError(self._fault)

    def catch_up(self) -> None:
        if not self.why_not:
            self._ask()
            self._answered.wait(CAUGHT_UP_WITHIN_S)

    def finish(self) -> None:
        self._helper.send_end()
        if not self.why_not:
            self._reader.join(FINISHED_WITHIN_S)
            if self._reader.is_alive():
                text = _("host %(host)s did not send the rest of the log within %(seconds)g s")
                self._fault = text % {"host": self._host, "seconds": FINISHED_WITHIN_S}

    def close(self) -> None:
        self._helper.close()

    def _ask(self) -> None:
        """Have what was appended sent, unless the last answer is still on its way."""
        if self._answered.is_set():
            self._answered.clear()
            self._asked_at = time.monotonic()
            self._helper.send()

    def _read(self) -> None:
        """Take what is sent until it ends, always, so that the host never waits for this process."""
        try:
            while line := self._helper.stdout.readline(300):
                self._take(line.decode(errors="replace").rstrip("\n"), self._helper.stdout)
        except (OSError, ValueError) as error:  # the pipe was closed, or what came is no piece
            self._fault = self._fault or str(error)
        self._answered.set()

    def _take(self, line: str, stdout: IO[bytes]) -> None:
        if line == "done":
            self._answered.set()
        elif line == "behind":
            text = _("more was logged than the connection to host %(host)s carries")
            self._fault = text % {"host": self._host}
        else:
            self._keep(*self._piece(line, stdout))

    def _piece(self, line: str, stdout: IO[bytes]) -> Chunk:
        found = _PIECE.fullmatch(line)
        if found is None or not fnmatch.fnmatchcase(found["name"], self._pattern) or int(found["bytes"]) > PIECE_BYTES:
            raise ValueError(_("host %(host)s sent %(line)s in place of it") % {"host": self._host, "line": line[:80]})
        return found["name"], stdout.read(int(found["bytes"]))

    def _keep(self, name: str, chunk: bytes) -> None:
        with self._counting:
            self._held_bytes += len(chunk)
        if self._fault or self._held_bytes > HELD_BYTES:
            self._fault = self._fault or _("host %(host)s sent more than could be read") % {"host": self._host}
        else:
            self._came.put((name, chunk))
