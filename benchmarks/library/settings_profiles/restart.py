"""Restarts a cluster's server, only by a command that the operator wrote into a file of their own.

POOLDECK_RESTART_FILE names a TOML file with a table `restart`: cluster name → words of a command that returns once the
server is up again, as `demo = ["pg_ctlcluster", "15", "main", "restart"]`. Nothing typed in the panel reaches it.

A table `undo` names the command for a server that did not start with a profile: it gets the settings as they were
before as a JSON object on its standard input, puts them into postgresql.auto.conf and starts the server (`auto_conf`).
"""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from benchmarks.errors import Refused
from core.lib import env, toml_lines
from pools.models import Cluster

RESTART_WITHIN_S = 120
RESTART, UNDO = "restart", "undo"
WRITABLE_BY_OTHERS = 0o022


def command_for(cluster: Cluster, table: str = RESTART) -> list[str] | None:
    """Return the words that restart this cluster; None where the panel may not. Raises `Refused` for a wrong file."""
    if not settings.RESTART_FILE:
        return None
    path = Path(settings.RESTART_FILE)
    try:
        if path.stat().st_mode & WRITABLE_BY_OTHERS:
            raise Refused(
                _("%(path)s can be written by others than its owner, so nothing in it is run: chmod go-w it")
                % {"path": path}
            )
        commands: Any = toml_lines.read(path.read_text(encoding="utf-8")).get(table, {})
    except (OSError, UnicodeError, toml_lines.NotToml) as error:
        raise Refused(
            _("%(path)s, which POOLDECK_RESTART_FILE names, can't be read: %(error)s") % {"path": path, "error": error}
        ) from None
    words = commands.get(cluster.name) if isinstance(commands, dict) else None
    if words is None:
        return None
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise Refused(
            _(
                "%(path)s: %(table)s.%(name)s is not a list of words: write one such as "
                '["pg_ctlcluster", "15", "main", "restart"]'
            )
            % {"path": path, "table": table, "name": cluster.name}
        )
    return words


def restart(cluster: Cluster) -> None:
    """Run the command; raise `Refused` with its output where it fails or takes too long."""
    words = command_for(cluster)
    if words is None:
        raise Refused(
            _("the panel may not restart cluster %(name)s: name a command for it in POOLDECK_RESTART_FILE")
            % {"name": cluster.name}
        )
    _run(words, cluster)


def undo(cluster: Cluster, before: Mapping[str, str | None]) -> bool:
    """Have the settings put back that kept the server from starting; return whether there is a command for it.

    `before` is what ALTER SYSTEM held by name (None: nothing). Raises `Refused` as `restart`.
    """
    words = command_for(cluster, UNDO)
    if words is None:
        return False
    _run(words, cluster, json.dumps(before))
    return True


def _run(words: list[str], cluster: Cluster, given: str = "") -> None:
    try:
        done = subprocess.run(
            words,
            env=env.of_other_programs(),
            input=given,
            capture_output=True,
            text=True,
            timeout=RESTART_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(
            _("cluster %(name)s could not be restarted: %(error)s") % {"name": cluster.name, "error": error}
        ) from None
    if done.returncode:
        printed = (done.stderr or done.stdout).strip().splitlines()
        found = {"cluster": cluster.name, "code": done.returncode, "error": printed[-1] if printed else ""}
        if printed:
            text = _("the command that restarts cluster %(cluster)s ended with code %(code)s: %(error)s")
        else:
            text = _("the command that restarts cluster %(cluster)s ended with code %(code)s and printed nothing")
        raise Refused(text % found)
