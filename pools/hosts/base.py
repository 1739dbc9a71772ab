"""What every way to a host can do: read and replace files, run programs, describe processes, tunnel, follow a log."""

import errno
import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from django.utils.translation import gettext as _

from pools.errors import ApplyFailed, OutcomeUnknown, PoolsError

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SCRIPTS = Path(__file__).parent / "scripts"
LARGEST_BYTES = 32 * 1024 * 1024
RUN_S = 30.0
SHOWN_BYTES = 80  # of an answer that is no script's
NO_FILE, ABSENT = 42, 44  # exit codes of scripts: it is no regular file, or not there
KILLED = 128  # A signal ended a program with a higher exit code.


class UnsafeFolder(ApplyFailed):
    """The panel may not write to the configuration folder, or to a file in it."""


class HostRefused(PoolsError):
    """A host did not do what it was asked for; the message has its own words."""

    status = 502


@dataclass(frozen=True)
class CompletedCommand:
    """A program that ended by itself."""

    exit_code: int
    stdout: bytes
    stderr: bytes

    @property
    def words(self) -> str:
        """The last line that it printed to stderr."""
        lines = self.stderr.decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""


class Access(NamedTuple):
    """The owner and the mode of a file."""

    uid: int
    gid: int
    mode: int


@dataclass(frozen=True)
class PlacedFile:
    """A file of an operator's: its bytes, and who may read it."""

    content: bytes = field(repr=False)
    access: Access


@dataclass(frozen=True)
class FileFacts:
    """An entry of a folder: `mode` is as ls prints it, such as `-rw-r-----`."""

    name: str
    mode: str
    uid: int
    gid: int
    size: int

    @property
    def is_file(self) -> bool:
        """True if it is a regular file, and no link to one."""
        return self.mode.startswith("-")


class LogPosition(NamedTuple):
    """Where a log was read to: the file, which a rotation renames, by its inode, and the bytes before."""

    inode: int
    offset: int


class LogPart(NamedTuple):
    """Bytes of a log, the position of the first one, and how many before them were too many to be read.

    `is_rotated`: they are of the file that a rotation put aside.
    """

    position: LogPosition
    content: bytes
    skipped: int
    is_rotated: bool

    def read_to(self, count: int) -> LogPosition:
        """Return the position after so many of its bytes."""
        return self.position._replace(offset=self.position.offset + count)


class HostConnection(ABC):
    """A way to one host. Nothing here takes a password in `argv` or `environment`: those go to `stdin`, or to a file.

    Everything raises `HostUnreachable` where the connection is lost; then it is unknown whether it was done.
    """

    is_here = False  # The host is the one that this process runs on.

    @property
    @abstractmethod
    def uid(self) -> int:
        """The account that works there."""

    @abstractmethod
    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        folder: str = "/",
        timeout_s: float = RUN_S,
    ) -> CompletedCommand:
        """Run a program to its end, with these variables and PATH alone; it is ended there after `timeout_s`."""

    @abstractmethod
    def lines(self, argv: Sequence[str]) -> AbstractContextManager[Iterator[bytes]]:
        """Run a program and give its lines as it prints them; leaving the context ends it there."""

    @abstractmethod
    def tunnel(self, host: str, port: int) -> AbstractContextManager[tuple[str, int]]:
        """Give libpq's host and port that lead to an address there; a `host` with a slash is a socket folder.

        With the port 0 it is a socket itself, by its path; the other end of its tunnel has the name `.s.PGSQL.0`.
        """

    @abstractmethod
    def read(self, folder: str, names: Sequence[str]) -> dict[str, bytes | None]:
        """Read files of a configuration folder; None where there is none. Raises `UnsafeFolder`."""

    @abstractmethod
    def replace(
        self,
        folder: str,
        contents: Mapping[str, bytes | None],
        of_new: Access | None = None,
        before_retry: Callable[[], object] | None = None,
    ) -> None:
        """Replace all files by these bytes (None: remove it) at one moment; raises `UnsafeFolder` or `ApplyFailed`.

        Nothing is written where the disk has no room for them (`DiskFull`).

        A reader, and a crash or a lost connection at any moment, finds all old bytes or all new ones. Owner, group and
        access are those of the folder; with `of_new`, files that are there keep theirs, and new ones get these.
        Where another process changed the files in the meantime, `before_retry` is called before each further try; what
        it raises ends them.
        """

    @abstractmethod
    def refuse_unsafe(self, folder: str) -> None:
        """Raise `UnsafeFolder` unless the account that works there may keep configuration in the folder."""

    def read_file(self, path: str) -> bytes | None:
        """Read any file, following links; None where there is none. Raises `HostRefused`."""
        found = self.script_to_end("read_file.sh", path, str(LARGEST_BYTES))
        if found.exit_code == ABSENT:
            return None
        if found.exit_code:
            raise HostRefused(_("%(path)s can't be read: %(reason)s") % {"path": path, "reason": found.words})
        return found.stdout

    def file_at(self, path: str, *, follow: bool = True) -> PlacedFile | None:
        """Read a regular file of an operator's with its owner and mode, through links only where `follow` is set.

        None where there is none. Raises `OSError` for anything else, and for one that may not be read, `HostRefused`
        where the host answers something else than the script does.
        """
        found = self.script_to_end("file.sh", path, str(LARGEST_BYTES), *(["follow"] if follow else []))
        if found.exit_code == ABSENT:
            return None
        if found.exit_code == NO_FILE:
            raise not_regular(path)
        if found.exit_code:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        head, _newline, content = found.stdout.partition(b"\n")
        try:
            mode, uid, gid = head.decode().split()
            return PlacedFile(content, Access(int(uid), int(gid), mode_of(mode)))
        except ValueError:
            raise strange_answer("file.sh", head) from None

    def list_folder(self, folder: str) -> list[FileFacts]:
        """List a folder, without `.` and `..`; empty where there is none. Raises `HostRefused`."""
        found = self.script_to_end("list.sh", folder)
        if found.exit_code == ABSENT:
            return []
        if found.exit_code:
            raise HostRefused(_("%(path)s can't be listed: %(reason)s") % {"path": folder, "reason": found.words})
        try:
            return [_file_facts(record) for record in found.stdout.split(b"\0") if record]
        except ValueError:
            raise strange_answer("list.sh", found.stdout) from None

    def tail(self, path: str, most_bytes: int) -> bytes | None:
        """Read the end of a log, and of the one that a rotation put aside; None where there is none.

        Raises `HostRefused`.
        """
        found = self.script("tail.sh", path, str(most_bytes))
        if found.exit_code == ABSENT:
            return None
        if found.exit_code:
            raise HostRefused(_("%(path)s can't be read: %(reason)s") % {"path": path, "reason": found.words})
        return found.stdout[-most_bytes:]

    def read_after(self, path: str, position: LogPosition | None, most_bytes: int) -> LogPart | None:
        """Read what a log has gained since a position, the newest `most_bytes` of it; None where there is no log.

        Without a position nothing is read: the part tells where the log ends. Of a file that a rotation put aside, the
        rest is read first, and the new file from its begin by the next call. Raises `HostRefused`.
        """
        inode, offset = position or (0, 0)
        found = self.script("read_after.sh", path, str(most_bytes), str(inode), str(offset))
        if found.exit_code == ABSENT:
            return None
        if found.exit_code:
            raise HostRefused(_("%(path)s can't be read: %(reason)s") % {"path": path, "reason": found.words})
        head, _newline, content = found.stdout.partition(b"\n")
        try:
            now, start, skipped, name = head.decode().split()
            return LogPart(LogPosition(int(now), int(start)), content, int(skipped), name == "rotated")
        except ValueError:
            raise strange_answer("read_after.sh", head) from None

    def follow(self, path: str) -> AbstractContextManager[Iterator[bytes]]:
        """Give the lines that are added to a file from now on, also after it was rotated."""
        return self.lines(["tail", "-n", "0", "-F", path])

    def script(self, name: str, *words: str, stdin: bytes = b"", timeout_s: float = RUN_S) -> CompletedCommand:
        """Run a script of the folder `scripts` there, by sh."""
        return self.run(["sh", "-c", script(name), name, *words], stdin=stdin, timeout_s=timeout_s)

    def script_to_end(self, name: str, *words: str, stdin: bytes = b"", shown: str = "") -> CompletedCommand:
        """Run a script that tells only by its own end what it did, and raise `OutcomeUnknown` where it was ended.

        `shown` names it in the message where another script starts it.
        """
        try:
            done = self.script(name, *words, stdin=stdin)
        except HostRefused as error:
            text = _("%(script)s did not end within %(seconds)d s, so what it did on its host is not known")
            raise OutcomeUnknown(text % {"script": shown or name, "seconds": RUN_S}) from error
        if done.exit_code > KILLED:
            text = _("%(script)s was ended by signal %(signal)d, so what it did on its host is not known")
            raise OutcomeUnknown(text % {"script": shown or name, "signal": done.exit_code - KILLED})
        return done


@cache
def script(name: str) -> str:
    """Read a shell script of `SCRIPTS` by its file name, once per process."""
    return (SCRIPTS / name).read_text()


def quoted(argv: Sequence[str]) -> str:
    """Return a command line for a shell."""
    return " ".join(shlex.quote(word) for word in argv)


def not_regular(path: str) -> OSError:
    """Return an OSError about a path that leads to something other than a regular file, such as a folder."""
    return OSError(_("%(path)s is not a regular file") % {"path": PurePosixPath(path).name})


def strange_answer(name: str, answer: bytes) -> HostRefused:
    """Return the error for what is no answer of a script: sshd's shell may read a file that prints a greeting."""
    text = _(
        "the answer of %(script)s on the host can't be read: %(answer)s; where the account's shell prints words of its "
        "own, let it print none without a terminal"
    )
    shown = " ".join(answer[:SHOWN_BYTES].replace(b"\0", b" ").decode(errors="replace").split())
    return HostRefused(text % {"script": name, "answer": shown or _("nothing")})


def mode_of(text: str) -> int:
    """Return the bits of a mode that ls prints: 0o2750 for `drwxr-s---`."""
    bits = 0
    for at, letter in enumerate(text[1:10]):
        if letter in "rwxst":
            bits |= 0o400 >> at
        if letter in "sStT":
            bits |= {2: 0o4000, 5: 0o2000, 8: 0o1000}[at]
    return bits


def _file_facts(record: bytes) -> FileFacts:
    mode, uid, gid, size, name = record.decode(errors="surrogateescape").split(" ", 4)
    return FileFacts(name, mode, int(uid), int(gid), int(size))
