"""Finds the program for a preflight's trial instance, and the account to run it as; for every kind of pooler."""

import os
import shutil
import subprocess
from collections.abc import Callable
from itertools import chain
from pathlib import Path

from django.utils.translation import gettext as _

from pools.models import Pooler
from pools.poolers import local_process

SEARCH_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
VERSION_TIMEOUT_S = 10


def find(pooler: Pooler, name: str, search_path: str, is_release: Callable[[str], bool]) -> str | None:
    """Return the path of a program of the pooler's version: the running one, else one on the search path.

    None where neither can be read and started by the account that has the pooler's folder.
    """
    on_path = shutil.which(name, path=search_path)
    # the first match ends the search: each child of a Pgpool-II is a process to ask for its sockets
    candidates = chain(local_process.programs(pooler, name), [on_path] if on_path else [])
    return next((path for path in candidates if is_release(_printed(path, pooler.config_dir))), None)


def started(program: str) -> str:
    """Return that a trial instance started, for the step of a preflight."""
    return _("a trial instance started on the files (%(program)s)") % {"program": program}


def not_found(pooler: Pooler, version_text: str) -> str:
    """Return why no trial instance was started."""
    if not local_process.listens_here(pooler):
        return _("no trial instance: %(version)s was not found on this host") % {"version": version_text}
    return _(
        "no trial instance: %(version)s runs on this host, but this account can't read or start the program of its "
        "process"
    ) % {"version": version_text}


def _printed(path: str, config_dir: str) -> str:
    """Return the output of `--version`; empty where it can't be started."""
    try:
        account = as_owner(Path(config_dir).stat())
        done = subprocess.run(  # type: ignore[call-overload]
            [path, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_TIMEOUT_S,
            check=False,
            **account,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return f"{done.stdout}{done.stderr}"


def as_owner(owner: os.stat_result) -> dict[str, object]:
    """Return Popen's arguments to run as the owner; none unless this process is root."""
    if os.geteuid() != 0:
        return {}
    return {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}


def handed_over(folder: Path, owner: os.stat_result) -> dict[str, object]:
    """Give the folder and its files to the owner, and return `as_owner`."""
    account = as_owner(owner)
    if account:
        for path in (folder, *folder.iterdir()):
            os.chown(path, owner.st_uid, owner.st_gid)
    return account
