"""The unprivileged account that PostgreSQL, PgBouncer and Pgpool-II run as when the panel is started by root."""

import os
import pwd
import shutil
import signal
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from core.lib import private_files

CANDIDATES = ("postgres", "nobody")
# numbers of capabilities(7); either of the first two lets the account pass a folder that is closed to it
READ_SEARCH, OVERRIDE, SETPCAP = 2, 1, 8


class AccountMissing(Exception):
    """No server can run as an unprivileged account on this machine."""


@dataclass(frozen=True)
class Account:
    """An account of the machine."""

    name: str
    uid: int
    gid: int


@cache
def unprivileged() -> Account | None:
    """Return the account to drop to; None where the panel does not run as root."""
    if os.geteuid() != 0:
        return None
    for name in CANDIDATES:
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, account.pw_uid, account.pw_gid)
    raise AccountMissing(f"none of the accounts {', '.join(CANDIDATES)} exists: install the package postgresql")


def make_folder(path: Path) -> None:
    """Create a 0700 folder that belongs to the servers' account."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if account := unprivileged():
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def write_private(path: Path, text: str) -> None:
    """Replace a 0600 file of the servers' account atomically."""
    account = unprivileged()
    private_files.replace(path, text, owner=(account.uid, account.gid) if account else None)


def ending_with_parent(argv: list[str], with_signal: signal.Signals) -> list[str]:
    """Wrap a command so that the kernel sends it `with_signal` when its parent dies (PR_SET_PDEATHSIG, prctl(2))."""
    return [_setpriv(), "--pdeathsig", with_signal.name.removeprefix("SIG"), *argv]


def as_unprivileged(argv: list[str], with_signal: signal.Signals, folder: Path) -> list[str]:
    """Wrap a command to run as the account, able to reach `folder` and its program, and to die with its parent.

    The account only changes where the panel runs as root.
    """
    account = unprivileged()
    if account is None:
        return ending_with_parent(argv, with_signal)
    return ending_with_parent([*_as(account), *_path_to([str(folder), argv[0]], account), *argv], with_signal)


def _setpriv() -> str:
    path = shutil.which("setpriv") or shutil.which("setpriv", path="/usr/bin:/bin")
    if not path:
        raise AccountMissing("setpriv is not installed: install the package util-linux")
    return path


def _as(account: Account) -> list[str]:
    return [f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups"]


def _path_to(paths: list[str], account: Account) -> list[str]:
    """Return the options for the capability that the account needs to reach the paths (such as under /root), if any.

    initdb calls access(2), which drops the capabilities of all users but root; `no_setuid_fixup` prevents that.
    """
    if all(_is_open(path, account) for path in paths):
        return []
    bounds = _bounding_set()
    for number, name in ((READ_SEARCH, "dac_read_search"), (OVERRIDE, "dac_override")):
        if bounds >> number & 1:
            remembered = ["--securebits=+no_setuid_fixup"] if bounds >> SETPCAP & 1 else []
            return [f"--inh-caps=+{name}", f"--ambient-caps=+{name}", *remembered]
    raise AccountMissing(f"{' or '.join(paths)} can't be reached by {account.name}: move both where it can enter")


def _is_open(path: str, account: Account) -> bool:
    program = shutil.which(path) or path
    argv = [_setpriv(), *_as(account), "test", "-x", program]
    # without the panel's environment, which has secrets that the account could read of its own process
    return subprocess.run(argv, env={"PATH": "/usr/bin:/bin"}, cwd="/", check=False).returncode == 0


def _bounding_set() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1], 16) for line in lines if line.startswith("CapBnd:"))
