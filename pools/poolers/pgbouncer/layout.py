"""How a PgBouncer's files lie: whether those in config_dir are the ones that it reads, and what it calls the folder.

It may run in a container, or by relative paths, in another working directory. Where its process can be seen from here,
its own view of the file system tells which files it reads (/proc/PID/root); elsewhere a read-back does, after the
apply.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

import psutil
from django.utils.translation import gettext as _

from pools.models import Pooler
from pools.poolers import local_process
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import operators_config
from pools.poolers.pgbouncer.render import MAIN, USERLIST


def folder_there(pooler: Pooler, config: Mapping[str, str], *, has_main: bool) -> str:
    """Return config_dir as PgBouncer itself calls it, from SHOW CONFIG; raises `Rejected` where it reads other files.

    `has_main`: whether config_dir has a pgbouncer.ini. Of one that was taken over, the files were found where they lie.
    """
    if pooler.file_paths and has_main:
        return operators_config.folder_there(pooler, config.get("conffile", ""))
    path, main = PurePosixPath(config["auth_file"]), PurePosixPath(config.get("conffile", ""))
    params = {"config_dir": pooler.config_dir, "main": MAIN, "userlist": USERLIST, "path": path, "conffile": main}
    if main.name not in ("", MAIN):
        text = _(
            "PgBouncer runs with %(conffile)s, and the panel writes to a main file called %(main)s: start it with one "
            "of that name, in a folder that no other PgBouncer has, and register that folder"
        )
        raise Rejected(text % params)
    if not config["auth_file"]:
        text = _(
            "PgBouncer has no auth_file, in which the panel lists the users of its pools: set auth_file = "
            "%(config_dir)s/%(userlist)s in its [pgbouncer] section, RELOAD, then apply again"
        )
        raise Rejected(text % params)
    if path.name != USERLIST or not has_main:
        text = _(
            "config_dir %(config_dir)s must have %(main)s, and its auth_file (now %(path)s) must be "
            "%(config_dir)s/%(userlist)s: change it, RELOAD, then apply again"
        )
        raise Rejected(text % params)
    for name, other in _others(pooler, {MAIN: config.get("conffile", ""), USERLIST: config["auth_file"]}):
        text = _(
            "PgBouncer reads %(other)s, which is another file than %(config_dir)s/%(name)s: register the folder that "
            "has it, or start PgBouncer with that file"
        )
        raise Rejected(text % {**params, "other": other, "name": name})
    return str(path.parent)


def _others(pooler: Pooler, paths: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each name of a file in config_dir, and the path of another file that its process finds in its place.

    `paths` are those of SHOW CONFIG by name. Nothing is said of several processes that share the port: one of them may
    have a main file of another name.
    """
    pids = local_process.pids(pooler, "pgbouncer")
    for name, path in paths.items() if len(pids) == 1 else ():
        with suppress(psutil.Error, OSError):
            whole = PurePosixPath(psutil.Process(pids[0]).cwd(), path)
            there = Path(f"/proc/{pids[0]}/root{whole}")
            if path and there.exists() and not there.samefile(Path(pooler.config_dir, name)):
                yield name, str(whole)
