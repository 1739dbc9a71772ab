"""What starting a throwaway pooler takes, whatever the program: where it is found, and as whom it runs."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from pools.models import Pooler
from pools.poolers import local_process

SEARCH_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
VERSION_TIMEOUT_S = 10


def find(pooler: Pooler, name: str, search_path: str, is_release: Callable[[str], bool]) -> str | None:
    """The path of a program whose printed version is the pooler's: the one that runs, else one on the path.

    None where neither can be read and started by the account that has the pooler's folder.
    """
    on_path = shutil.which(name, path=search_path)
    candidates = [*local_process.programs(pooler, name), *([on_path] if on_path else [])]
    return next((path for path in candidates if is_release(_printed(path, pooler.config_dir))), None)


def not_found(pooler: Pooler, version_text: str) -> str:
    """Why no throwaway pooler was started."""
    missing = f"no {version_text} here to try on"
    if not local_process.listens_here(pooler):
        return missing
    return f"{missing}: it runs on this host, but this account can't read or start the program of its process"


def _printed(path: str, config_dir: str) -> str:
    """What it says of its version; empty where it can't be started."""
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
    """Popen's words to run as the owner; none where we are not root."""
    if os.geteuid() != 0:
        return {}
    return {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}


def handed_over(folder: Path, owner: os.stat_result) -> dict[str, object]:
    """The same, after the folder and its files were given to the owner."""
    account = as_owner(owner)
    if account:
        for path in (folder, *folder.iterdir()):
            os.chown(path, owner.st_uid, owner.st_gid)
    return account
