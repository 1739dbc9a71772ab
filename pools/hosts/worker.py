"""The way to the host of this process: its own files, programs and sockets."""

import errno
import os
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from django.utils.translation import gettext as _

from pools.hosts import atomic_write
from pools.hosts.base import (
    LARGEST_BYTES,
    PATH,
    RUN_S,
    Access,
    CompletedCommand,
    HostConnection,
    HostRefused,
    PlacedFile,
    not_regular,
)

NOT_STARTED = 127  # the shell's exit code for a program that it does not find


class WorkerConnection(HostConnection):
    """This host, where a worker of the panel runs."""

    is_here = True

    @property
    def uid(self) -> int:
        return os.geteuid()

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        folder: str = "/",
        timeout_s: float = RUN_S,
    ) -> CompletedCommand:
        try:
            done = subprocess.run(
                argv,
                input=stdin,
                capture_output=True,
                env=_clean(environment or {}),
                cwd=folder,
                timeout=timeout_s,
                start_new_session=True,
                check=False,
            )
        except OSError as error:
            return CompletedCommand(NOT_STARTED, b"", f"{argv[0]}: {error.strerror}".encode())
        except subprocess.TimeoutExpired as error:
            raise HostRefused(
                _("%(program)s did not end within %(seconds)d s, and was ended")
                % {"program": argv[0], "seconds": timeout_s}
            ) from error
        return CompletedCommand(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def lines(self, argv: Sequence[str]) -> Iterator[Iterator[bytes]]:
        with subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_clean({}),
            cwd="/",
        ) as process:
            try:
                yield iter(process.stdout or ())
            finally:
                process.kill()

    @contextmanager
    def tunnel(self, host: str, port: int) -> Iterator[tuple[str, int]]:
        """Give the address itself."""
        yield host, port

    def file_at(self, path: str, *, follow: bool = True) -> PlacedFile | None:
        """Read it by a descriptor, so that bytes and owner are those of one file; a pipe is not waited for."""
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise not_regular(path) if error.errno == errno.ELOOP else error from error
        with os.fdopen(file, "rb") as opened:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise not_regular(path)
            access = Access(status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode))
            return PlacedFile(opened.read(LARGEST_BYTES), access)

    def read(self, folder: str, names: Sequence[str]) -> dict[str, bytes | None]:
        return atomic_write.read(folder, list(names))

    def replace(
        self,
        folder: str,
        contents: Mapping[str, bytes | None],
        of_new: Access | None = None,
        before_retry: Callable[[], object] | None = None,
    ) -> None:
        atomic_write.replace(folder, contents, of_new)

    def refuse_unsafe(self, folder: str) -> None:
        atomic_write.refuse_unsafe(folder)


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": PATH, "LC_ALL": "C", **environment}
