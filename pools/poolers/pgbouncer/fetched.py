"""A PgBouncer whose files somebody fetches: what the panel knows of them without reading its host.

All that is delivered has a name of its own that begins with `pooldeck`, so that unpacking it replaces nothing of the
operator's: their main file includes pooldeck_settings.ini and pooldeck.ini, and their auth_file is, or has below its
own lines, pooldeck_userlist.txt.
"""

import os
import pwd
import tempfile
from collections.abc import Mapping
from types import MappingProxyType

from django.utils.translation import gettext as _

from pools.models import Pooler
from pools.poolers import local_process
from pools.poolers.faults import Rejected
from pools.poolers.local_process import SEARCH_PATH
from pools.poolers.pgbouncer import access, preflight, render
from pools.poolers.pgbouncer.global_settings import SETTINGS, Spec
from pools.poolers.pgbouncer.render import DATABASES, MAIN, USERLIST
from pools.poolers.session import Files

NAMES: Mapping[str, str] = MappingProxyType({USERLIST: "pooldeck_userlist.txt"})


def first_texts(pooler: Pooler) -> dict[str, str]:
    """Return the files of a pooler without pools, with which one that was never started can begin."""
    return {
        SETTINGS: Spec().text,
        USERLIST: render.userlist("", {pooler.admin_user: pooler.admin_password}),
        DATABASES: render.databases([], {}),
    }


def known(pooler: Pooler, offered: Files, config: Mapping[str, str]) -> Files:
    """Return the files that are offered, those of a pooler without pools for what never was, and a main file for them.

    That main file says of the operator's that it includes the panel's files, and how clients log in, as SHOW CONFIG
    (`config`) has it or, where the panel's rules hide that, as these keep it. What else it sets, SHOW CONFIG tells.
    """
    first = {name: text.encode() for name, text in first_texts(pooler).items()}
    found = {name: content if content is not None else first.get(name) for name, content in offered.items()}
    texts = {name: content.decode(errors="surrogateescape") for name, content in found.items() if content}
    own = [f"{name} = {value}" for name, value in access.own_values({}, texts, config).items()]
    includes = [f"%include {pooler.config_dir}/{name}" for name in (SETTINGS, DATABASES)]
    return found | {MAIN: "\n".join(["[pgbouncer]", *own, *includes, ""]).encode()}


def refuse_unlisted(config: Mapping[str, str]) -> None:
    """Raise `Rejected` where PgBouncer reads no list of users, by its SHOW CONFIG."""
    if not config.get("auth_file"):
        text = _(
            "PgBouncer has no auth_file, which must be %(file)s or have its lines: set it, then RELOAD or restart it"
        )
        raise Rejected(text % {"file": NAMES[USERLIST]})


def refuse_two_step_reload(names: set[str], version_text: str) -> None:
    """Raise `Rejected` for entries that PgBouncer changes only after a reload without them, which nobody can time."""
    if names:
        text = _(
            "%(version)s can't change %(names)s in place: remove the pool, wait until its removal is applied, and make "
            "it again"
        )
        raise Rejected(text % {"version": version_text, "names": ", ".join(sorted(names))})


def preflight_files(pooler: Pooler, version_text: str, texts: Mapping[str, str]) -> str:
    """Start a trial instance on these texts where this host has the release, and return the text of the step."""
    path = local_process.find_program(
        pooler, "pgbouncer", SEARCH_PATH, lambda printed: printed.startswith(f"{version_text}\n")
    )
    if path is None:
        return local_process.why_no_trial(pooler, "pgbouncer", version_text)
    with tempfile.TemporaryDirectory(prefix=preflight.PREFIX) as folder:
        if os.geteuid() == 0:  # PgBouncer does not start as root
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        preflight.start_here(path, texts, folder, pooler.config_dir)
    return local_process.trial_started(path)
