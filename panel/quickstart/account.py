"""The unprivileged account that PostgreSQL, PgBouncer and Pgpool-II run as when the panel is started by root."""

import os
import pwd
import shutil
import signal
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from panel.lib import private_files

CANDIDATES = ("postgres", "nobody")
# Linux's numbers (capabilities(7)): either of the first two lets the account into a folder below a closed one
READ_SEARCH, OVERRIDE, SETPCAP = 2, 1, 8


class AccountMissing(Exception):
    """There is no way to run a server as an ordinary account on this machine."""


@dataclass(frozen=True)
class Account:
    """An account of the machine."""

    name: str
    uid: int
    gid: int


@cache
def unprivileged() -> Account | None:
    """The account to drop to; None when the panel itself is not root, and nothing has to be dropped."""
    if os.geteuid() != 0:
        return None
    for name in CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise AccountMissing(f"none of the accounts {', '.join(CANDIDATES)} exists: install the package postgresql")


def make_folder(path: Path) -> None:
    """A 0700 folder that belongs to the account of the servers."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if account := unprivileged():
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def write_private(path: Path, text: str) -> None:
    """A 0600 file of the account's, replaced whole: a reader sees the old bytes or the new ones."""
    account = unprivileged()
    private_files.replace(path, text, owner=(account.uid, account.gid) if account else None)


def dying_with_us(argv: list[str], with_signal: signal.Signals) -> list[str]:
    """The command, sent `with_signal` by the kernel when its parent dies (PR_SET_PDEATHSIG, prctl(2))."""
    return [_setpriv(), "--pdeathsig", with_signal.name.removeprefix("SIG"), *argv]


def dropped(argv: list[str], with_signal: signal.Signals, folder: Path) -> list[str]:
    """The command as the account, able to reach `folder` and its program, dying with its parent.

    No change of account unless root.
    """
    account = unprivileged()
    if account is None:
        return dying_with_us(argv, with_signal)
    return dying_with_us([*_as(account), *_path_to([str(folder), argv[0]], account), *argv], with_signal)


def _setpriv() -> str:
    found = shutil.which("setpriv") or shutil.which("setpriv", path="/usr/bin:/bin")
    if not found:
        raise AccountMissing("setpriv is not installed: install the package util-linux")
    return found


def _as(account: Account) -> list[str]:
    return [f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups"]


def _path_to(paths: list[str], account: Account) -> list[str]:
    """Nothing where the account can reach all of them, else the one capability that opens the way (say, under /root).

    access(2) forgets the capabilities of everybody but root, and initdb asks it; `no_setuid_fixup` makes it remember.
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
    return subprocess.run([_setpriv(), *_as(account), "test", "-x", program], cwd="/", check=False).returncode == 0


def _bounding_set() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1], 16) for line in lines if line.startswith("CapBnd:"))
