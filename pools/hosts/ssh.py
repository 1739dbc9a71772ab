"""The way to a host by SSH: nothing is needed there but sshd, sh, and the coreutils or busybox."""

import errno
import os
import re
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from math import ceil

from django.utils.translation import gettext as _

from pools.errors import HostUnreachable
from pools.hosts import ssh_files
from pools.hosts.base import (
    ABSENT,
    PATH,
    RUN_S,
    Access,
    CompletedCommand,
    HostConnection,
    HostRefused,
    quoted,
    strange_answer,
)
from pools.hosts.keys import socket_path
from pools.hosts.ssh_client import LOST, Client, hops_to, logged_in
from pools.models import Host

REFUSED_WITHIN_S = 3.0  # a connection that is open for longer leads somewhere
PROBES = 3  # probes while other tunnels of the login are refused in the same moment for another reason
PROHIBITED = "administratively prohibited"  # sshd's configuration or the line in authorized_keys prohibits it
SOCKET_TEST = f'[ -S "$1" ] || exit {ABSENT}; [ -w "$1" ] || exit 1'
OPEN_FAILED = re.compile(r"open failed: (.*)")
GRACE_S = 10.0  # beyond a program's own time, for the connection
TIMED_OUT = 124  # timeout's exit code, of coreutils and busybox
# stdin is open for as long as the connection and this process are; its end ends the program
TIED = 'exec 3<&0; "$@" < /dev/null & child=$!; (cat <&3 > /dev/null; kill "$child") & wait "$child"'


@contextmanager
def connected(host: Host) -> Iterator["SshConnection"]:
    """Log in to a host, and log out at the end. Raises `HostUnreachable`."""
    with logged_in(hops_to(host)) as client:
        yield SshConnection(client)


class SshConnection(HostConnection):
    """One login, which every command shares."""

    def __init__(self, client: Client) -> None:
        self.client = client

    @cached_property
    def uid(self) -> int:
        printed = self.run(["id", "-u"]).stdout
        try:
            return int(printed)
        except ValueError:
            raise strange_answer("id -u", printed) from None

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        folder: str = "/",
        timeout_s: float = RUN_S,
    ) -> CompletedCommand:
        timed = ["timeout", "-k", "5", str(ceil(timeout_s)), *argv]
        remote = _command(timed, environment or {}, folder)
        try:
            done = subprocess.run(
                self.client.command(remote),
                input=stdin,
                capture_output=True,
                env=self.client.environment,
                timeout=timeout_s + GRACE_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise HostUnreachable(self._lost()) from error
        if done.returncode == LOST:
            raise HostUnreachable(self._lost())
        if done.returncode == TIMED_OUT:
            raise HostRefused(
                _("%(program)s did not end on host %(host)s within %(seconds)d s, and was ended")
                % {"program": argv[0], "host": self.client.hop.name, "seconds": timeout_s}
            )
        return CompletedCommand(done.returncode, done.stdout, done.stderr)

    def start(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        folder: str = "/",
        stdin: int = subprocess.DEVNULL,
    ) -> "subprocess.Popen[bytes]":
        """Start a program there whose pipes are read as it prints; it must see to its own end there."""
        return subprocess.Popen(
            self.client.command(_command(argv, environment or {}, folder)),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.client.environment,
            start_new_session=True,
        )

    @contextmanager
    def lines(self, argv: Sequence[str]) -> Iterator[Iterator[bytes]]:
        remote = _command(["sh", "-c", TIED, "sh", *argv], {}, "/")
        process = subprocess.Popen(
            self.client.command(remote),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self.client.environment,
        )
        try:
            yield iter(process.stdout or ())
        finally:
            if process.stdin:
                process.stdin.close()
            ended = threading.Timer(GRACE_S, process.kill)
            ended.start()
            process.wait()
            ended.cancel()
            if process.stdout:
                process.stdout.close()

    @contextmanager
    def tunnel(self, host: str, port: int) -> Iterator[tuple[str, int]]:
        """Give the folder of a Unix socket, which only this account can use, and the port in its name."""
        with tempfile.TemporaryDirectory(dir=self.client.folder) as folder:
            here = socket_path(folder, port)
            there = _place(host, port)
            self._control("forward", f"{here}:{there}")
            try:
                yield folder, port
            finally:
                self._control("cancel", f"{here}:{there}", must_work=False)

    def refusal_of(self, tunnel: tuple[str, int], host: str, port: int) -> str:
        """Return why nothing is opened there by a tunnel to this address, in ssh's words; empty where it is opened."""
        for _probe in range(PROBES):
            words = self._probed(socket_path(*tunnel))
            if not words:
                return ""
            if host.startswith("/"):
                return self._socket_refusal(_place(host, port))
            if len(words) == 1:
                return words.pop()
        return ""

    def _probed(self, path: str) -> set[str]:
        """Return the reasons that ssh's log names while a connection is tried; none where it is opened.

        A line of the log does not tell which tunnel was refused.
        """
        log_size = self.client.log.stat().st_size
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(REFUSED_WITHIN_S)
            try:
                probe.connect(path)
                is_closed = not probe.recv(1)
            except OSError:
                return set()
        words = OPEN_FAILED.findall(self.client.log.read_bytes()[log_size:].decode(errors="replace"))
        return {one.strip() for one in words} if is_closed else set()

    def _socket_refusal(self, path: str) -> str:
        """Return why a socket there is not opened: of these sshd says always the same."""
        found = self.run(["sh", "-c", SOCKET_TEST, "sh", path]).exit_code
        return os.strerror(errno.ENOENT if found == ABSENT else errno.EACCES) if found else PROHIBITED

    def read(self, folder: str, names: Sequence[str]) -> dict[str, bytes | None]:
        return ssh_files.read(self, folder, names)

    def replace(
        self,
        folder: str,
        contents: Mapping[str, bytes | None],
        of_new: Access | None = None,
        before_retry: Callable[[], object] | None = None,
    ) -> None:
        ssh_files.replace(self, folder, contents, of_new, before_retry)

    def refuse_unsafe(self, folder: str) -> None:
        ssh_files.refuse_unsafe(self, folder)

    def _control(self, verb: str, forward: str, *, must_work: bool = True) -> None:
        """Have the login open or close a forward."""
        done = subprocess.run(
            self.client.words("-O", verb, "-L", forward, "--", self.client.hop.alias),
            env=self.client.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GRACE_S,
            check=False,
        )
        if done.returncode and must_work:
            raise HostUnreachable(self._lost())

    def _lost(self) -> str:
        return _("the connection to host %(host)s was lost") % {"host": self.client.hop.name}


def _command(argv: Sequence[str], environment: Mapping[str, str], folder: str) -> str:
    """Return the line for the account's shell, which starts a program in a clean environment."""
    variables = [f"{name}={value}" for name, value in {"PATH": PATH, "LC_ALL": "C", **environment}.items()]
    return f"cd {quoted([folder])} && exec {quoted(['env', '-i', *variables, *argv])}"


def _place(host: str, port: int) -> str:
    """Return an address there as ssh's -L takes it."""
    if host.startswith("/"):
        return socket_path(host, port) if port else host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
