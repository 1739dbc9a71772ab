"""OpenSSH's client: its configuration, one login that all commands share (ControlMaster), and what its errors mean.

The private keys lie in files of mode 0600 in a private folder, from just before the login until it succeeded or failed.
Those of a process that is killed meanwhile are removed at the next login, at each check of hosts, and when a worker
starts.
"""

import os
import re
import select
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from django.utils.translation import gettext as _

from core.installation import pausing
from core.lib import addresses
from core.lib.crypto import SealBroken
from pools.errors import HostUnreachable
from pools.hosts import keys
from pools.hosts.base import PATH, quoted
from pools.models import Host

CONNECT_S, ALIVE_S, ALIVE_COUNT = 8, 5, 2
LOGIN_S = 20.0  # limit of a login, including all hosts on the way
READY = b"pooldeck-is-logged-in"
LOST = 255  # ssh's own exit code
PREFIX = "pooldeck-ssh-"
MOST_JUMPS = 4
# Nothing of the account's or the system's configuration is read (`-F`), no agent is asked, no other key offered.
COMMON = f"""
Host *
    BatchMode yes
    ConnectTimeout {CONNECT_S}
    ServerAliveInterval {ALIVE_S}
    ServerAliveCountMax {ALIVE_COUNT}
    PreferredAuthentications publickey
    IdentitiesOnly yes
    IdentityAgent none
    ForwardAgent no
    ForwardX11 no
    PermitLocalCommand no
    RequestTTY no
    EscapeChar none
    StrictHostKeyChecking yes
    GlobalKnownHostsFile none
    UpdateHostKeys no
    VerifyHostKeyDNS no
    CheckHostIP no
    HashKnownHosts no
    ExitOnForwardFailure yes
    StreamLocalBindMask 0177
    LogLevel ERROR
"""


class KeyNotConfirmed(HostUnreachable):
    """Nobody has confirmed the key of the host `alias`, or it has another one than the confirmed key."""

    def __init__(self, message: str, alias: str) -> None:
        super().__init__(message)
        self.alias = alias


def alias_of(host: Host) -> str:
    """Return the name by which ssh knows a host here."""
    return f"host-{host.key}"


@dataclass(frozen=True)
class Hop:
    """One login on the way: `alias` stands for the host in configuration and known_hosts, whatever its address.

    `judged` is the one of its addresses that was found allowed, empty where its name is resolved by the hop before it.
    """

    alias: str
    name: str
    address: str
    port: int
    user: str
    host_key: str
    private_key: str = field(repr=False)
    judged: str = ""

    @property
    def connects_to(self) -> str:
        """The host to which ssh connects, which stands in its messages."""
        return self.judged or self.address

    @classmethod
    def of(cls, host: Host) -> Self:
        """Take over what the login to a host needs. Raises `HostUnreachable` where its stored key can't be opened."""
        try:
            private_key = host.private_key
        except SealBroken as error:
            text = _(
                "the key by which the panel logs in to host %(host)s can't be decrypted (%(reason)s): append the "
                "missing key to POOLDECK_KEYS, or register the host anew"
            )
            raise HostUnreachable(text % {"host": host, "reason": error}) from error
        return cls(alias_of(host), host.name, host.address, host.port, host.user, host.host_key, private_key)


def hops_to(host: Host) -> list[Hop]:
    """Return the logins to a host, those of the hosts on the way first. Raises `HostUnreachable`."""
    hops = [Hop.of(host)]
    while host.jump:
        host = host.jump
        if len(hops) > MOST_JUMPS:
            raise HostUnreachable(_("%(host)s is reached through too many other hosts") % {"host": host})
        hops.insert(0, Hop.of(host))
    return hops


@dataclass(frozen=True)
class Client:
    """The private folder of a connection, with the configuration of ssh in it; `hop` is its last login."""

    folder: Path
    hop: Hop
    master: "subprocess.Popen[bytes] | None" = None

    @property
    def is_alive(self) -> bool:
        """True if the login has not been lost, as far as ssh knows."""
        return self.master is not None and self.master.poll() is None

    @property
    def log(self) -> Path:
        """The file of ssh's own messages, also about each connection through a tunnel that its host refused."""
        return self.folder / "errors"

    @property
    def socket(self) -> Path:
        """The Unix socket through which commands share the login."""
        return self.folder / "master"

    def words(self, *options: str) -> list[str]:
        """Return the command to the master: without it, nothing else is tried (ProxyCommand)."""
        shared = ["-S", str(self.socket), "-o", "ControlMaster=no", "-o", "ProxyCommand=false"]
        return ["ssh", "-F", str(self.folder / "config"), *shared, *options]

    def command(self, remote: str) -> list[str]:
        """Return the command that runs a line of the shell there."""
        return [*self.words(), "--", self.hop.alias, remote]

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment of ssh: nothing of the panel's own."""
        return {"PATH": PATH, "HOME": str(self.folder), "LC_ALL": "C"}


@contextmanager
def logged_in(hops: Sequence[Hop]) -> Iterator[Client]:
    """Log in over these hops, and log out at the end. Raises `HostUnreachable`, `KeyNotConfirmed`."""
    hops = _judged(hops)
    with _private_folder() as folder:
        client = Client(folder, hops[-1])
        _write_configuration(folder, hops)
        for hop in hops:
            _write_private(folder / hop.alias, hop.private_key)
        try:
            master = _master(client, hops)
        finally:
            for hop in hops:
                (folder / hop.alias).unlink(missing_ok=True)
        try:
            yield replace(client, master=master)
        finally:
            _log_out(master)


def offered_key(hops: Sequence[Hop]) -> str:
    """Return the key that the last host offers now, without logging in there. Raises `HostUnreachable`."""
    hops = _judged(hops, last_is_confirmed=False)
    with _private_folder() as folder:
        client, offered = Client(folder, hops[-1]), folder / "offered"
        _write_configuration(folder, hops)
        for hop in hops[:-1]:
            _write_private(folder / hop.alias, hop.private_key)
        options = {
            "UserKnownHostsFile": offered,
            "StrictHostKeyChecking": "accept-new",
            "PreferredAuthentications": "none",
        }
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        argv = ["ssh", "-F", str(folder / "config"), *words, "--", client.hop.alias, "exit"]
        try:
            done = subprocess.run(
                argv,
                env=client.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=LOGIN_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise HostUnreachable(_too_late(client.hop)) from error
        if not offered.exists():
            raise _fault(hops, done.stderr.decode(errors="replace"))
        return " ".join(offered.read_text().split()[1:3])


def _judged(hops: Sequence[Hop], *, last_is_confirmed: bool = True) -> list[Hop]:
    """Return the logins with the address to connect to from here.

    Raises unless the panel may connect to each of these hosts, whose keys must be confirmed.
    """
    if pausing.is_paused():
        raise HostUnreachable(str(pausing.PAUSED))
    if shutil.which("ssh", path=PATH) is None:
        raise HostUnreachable(_("there is no ssh on the panel's host: install openssh-client"))
    first = _pinned(hops[0])
    for hop in hops:
        if reason := addresses.refusal(hop.address, hop.port) if hop is not hops[0] else "":
            raise HostUnreachable(reason)
        if not hop.host_key and (last_is_confirmed or hop is not hops[-1]):
            raise KeyNotConfirmed(
                _("the key of host %(host)s is not confirmed: compare its fingerprint, then confirm it")
                % {"host": hop.name},
                hop.alias,
            )
    return [first, *hops[1:]]


def _pinned(hop: Hop) -> Hop:
    """Resolve a host once, so that ssh connects to an address that was judged. Raises `HostUnreachable`."""
    try:
        found = addresses.resolve(hop.address, hop.port)
    except OSError:  # ssh says so
        return hop
    if reason := addresses.refusal_of(hop.address, hop.port, found):
        raise HostUnreachable(reason)
    return replace(hop, judged=found[0] if len(found) == 1 else _first_that_answers(found, hop.port))


def _first_that_answers(found: Sequence[str], port: int) -> str:
    """Return the first of several addresses at which something listens, as ssh would choose; else the last."""
    for address in found[:-1]:
        with suppress(OSError), socket.create_connection((address, port), timeout=CONNECT_S):
            return address
    return found[-1]


@contextmanager
def _private_folder() -> Iterator[Path]:
    """Make a folder that only this account can enter."""
    remove_left_folders()
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def remove_left_folders() -> None:
    """Remove the private folders of processes that were killed, which a login may have left a key in."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError, ValueError):
            if folder.stat().st_uid == os.geteuid() and not _is_alive(int(folder.name.split("-")[2])):
                shutil.rmtree(folder)


def _is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _write_configuration(folder: Path, hops: Sequence[Hop]) -> None:
    stanzas, before = [], ""
    for hop in hops:
        stanzas.append(
            f"Host {hop.alias}\n    HostName {hop.connects_to}\n    Port {hop.port}\n    User {hop.user}\n"
            f"    HostKeyAlias {hop.alias}\n    IdentityFile {folder / hop.alias}\n"
            f"    UserKnownHostsFile {folder / 'known_hosts'}\n" + (f"    ProxyJump {before}\n" if before else "")
        )
        before = hop.alias
    _write_private(folder / "config", "".join(stanzas) + COMMON)
    _write_private(folder / "known_hosts", "".join(f"{hop.alias} {hop.host_key}\n" for hop in hops if hop.host_key))


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def _master(client: Client, hops: Sequence[Hop]) -> "subprocess.Popen[bytes]":
    """Log in, and stay so until stdin is closed, which the end of this process does too, however it ends."""
    remote = quoted(["sh", "-c", f"echo {READY.decode()}; exec cat > /dev/null"])
    options = ["-o", "LogLevel=INFO", "-M", "-S", str(client.socket)]  # it tells which tunnels were refused, and why
    argv = ["ssh", "-F", str(client.folder / "config"), *options, "--", client.hop.alias, remote]
    with client.log.open("wb") as file:
        master = subprocess.Popen(
            argv,
            env=client.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file,
            start_new_session=True,
        )
    if _printed(master, READY):
        return master
    timed_out = master.poll() is None
    _log_out(master)
    if timed_out:
        raise HostUnreachable(_too_late(client.hop))
    raise _fault(hops, client.log.read_text(errors="replace"))


def _printed(process: "subprocess.Popen[bytes]", text: bytes) -> bool:
    """Wait until a process prints a text, at most `LOGIN_S`; an account's shell may print others before."""
    output, printed, until = process.stdout, b"", time.monotonic() + LOGIN_S
    if output is None:
        return False
    while text not in printed and (seconds := until - time.monotonic()) > 0:
        if not select.select([output], [], [], seconds)[0]:
            break
        chunk = os.read(output.fileno(), 4096)
        if not chunk:
            process.wait(5)  # it says why when it ends
            break
        printed = (printed + chunk)[-65536:]
    return text in printed


def _log_out(master: "subprocess.Popen[bytes]") -> None:
    for pipe in (master.stdin, master.stdout):
        if pipe:
            with suppress(OSError):
                pipe.close()
    try:
        master.wait(2)
    except subprocess.TimeoutExpired:
        master.kill()
        master.wait()


def _too_late(hop: Hop) -> str:
    text = _("host %(host)s (%(address)s, port %(port)d) did not answer within %(seconds)d s")
    return text % {"host": hop.name, "address": hop.address, "port": hop.port, "seconds": LOGIN_S}


def _fault(hops: Sequence[Hop], words: str) -> HostUnreachable:
    """Return the error that ssh's words mean; they name the host whose key differs by its alias."""
    if "Host key verification failed" in words:
        hop = next((one for one in hops if one.alias in words), hops[-1])
        text = _("host %(host)s has another key than the confirmed one (%(pinned)s): the panel does not log in to it")
        return KeyNotConfirmed(text % {"host": hop.name, "pinned": keys.fingerprint(hop.host_key)}, hop.alias)
    if "Permission denied" in words:
        hop = next((one for one in hops if f"{one.user}@{one.connects_to}: " in words), hops[-1])
        text = _(
            "host %(host)s does not let the panel in as %(user)s: put the panel's line into the authorized_keys file "
            "of that account"
        )
        return HostUnreachable(text % {"host": hop.name, "user": hop.user})
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    reason = re.sub(r"^(ssh|kex_exchange_identification|banner exchange): ", "", lines[-1]) if lines else _("no reason")
    text = _("host %(host)s (%(address)s, port %(port)d) can't be reached by SSH: %(reason)s")
    params = {"host": hops[-1].name, "address": hops[-1].address, "port": hops[-1].port}
    return HostUnreachable(text % (params | {"reason": reason.rstrip(".")}))
