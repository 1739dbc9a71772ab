"""What a running Pgpool-II has, for a take-over: its files, what it shows, and what a reload would change of that."""

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from django.utils.translation import gettext as _

from pools.config_files import pooler_files
from pools.errors import PoolsError
from pools.models import Pooler
from pools.poolers.faults import Rejected
from pools.poolers.pgpool import operators_config, pcp, render, settings_catalog, sql, verify
from pools.poolers.pgpool.operators_config import FileSet
from pools.poolers.pgpool.render import MAIN
from pools.poolers.settings_schema import Version

NODE = ("hostname", "port", "status", "lb_weight", "role", "pg_role")  # columns of SHOW POOL_NODES that last
UP = {"waiting": "up"}  # a backend is waiting until the first client leads to it
SEEN_WITHIN_S = 10
STEADY_S = 3.0  # children take a reload one after the other, and one that misses it keeps what it had for good
POLL_S = 0.1
# Users of the panel's part, which the catalog of settings leaves out: they are empty by default since 4.6.
CHECK_USERS = ("health_check_user", "sr_check_user")
EMPTY_USERS_SINCE: Version = (4, 6)
Shown = Mapping[str, Mapping[str, str]]  # setting or node → value, or its lasting columns
VersionOf = Callable[[str], Version]


@dataclass
class RunningPgpool:
    """A Pgpool-II as it runs: `pooler` is its record as the take-over would make it."""

    pooler: Pooler
    files: FileSet
    shown: Shown
    nodes: list[Mapping[str, object]]
    version: Version
    version_text: str

    @property
    def live(self) -> Mapping[str, str]:
        """PGPOOL SHOW ALL."""
        return self.shown["PGPOOL SHOW ALL"]

    @property
    def has_rules(self) -> bool:
        """Whether pool_hba.conf decides who is let in."""
        return verify.truth(self.live.get("enable_pool_hba", "")) == "on"

    def blockers(self) -> Iterator[str]:
        """Yield why its files can't be taken over as they are."""
        for path, why in self.files.unread.items():
            yield _("%(path)s can't be read here: %(reason)s") % {"path": path, "reason": why}
        for file in self.files.files.values():
            if render.MARK in file.text:
                text = _("%(path)s has lines of a panel already: remove them, then take it over")
                yield text % {"path": file.path}
        if self.pooler.pcp_port is None:
            yield _("it can't be reloaded without its PCP port: give it with the pooler's address")
        else:
            try:
                pcp.log_in(self.pooler)
            except PoolsError as error:
                yield str(error)
        known = settings_catalog.by_name(self.version)
        own = {name: value for name, value in render.values_in(self.files.text).items() if name in known}
        changed = [
            f"{name} {live or _('empty')} → {value or _('empty')}"
            for name, (live, value) in verify.differences(self.live, own, known).items()
            if not verify.waits_for_restart(name, known)
        ]
        if changed:
            text = _("its files differ from what Pgpool-II runs with (%(changed)s): reload it, or restore them")
            yield text % {"changed": "; ".join(changed)}

    def notes(self) -> Iterator[str]:
        """Yield what has to be known of the pools that can be made afterwards."""
        if not self.has_rules:
            yield _(
                "enable_pool_hba is off, so everybody is let in whom the servers let in, and that stays so. A pool is "
                "a rule of pool_hba.conf: write rules for the clients that there are and turn it on, before you make "
                "one."
            )


def inspect(pooler: Pooler, config_file: str, version_of: VersionOf) -> RunningPgpool:
    """Read all that a Pgpool-II reads and shows. Raises `Unreadable`, `PoolerUnreachable`."""
    with sql.open(pooler) as session:
        version_text, nodes, shown = sql.version(session), sql.rows(session, "pool_nodes"), _shown(session)
    files = operators_config.read(pooler, config_file, shown["PGPOOL SHOW ALL"].get("pid_file_name", ""))
    taken = copy.copy(pooler)
    taken.config_file, taken.file_paths = files.paths[MAIN], dict(files.paths)
    taken.config_dir = str(PurePosixPath(taken.config_file).parent)
    return RunningPgpool(taken, files, shown, list(nodes), version_of(version_text), version_text)


def differences(running: RunningPgpool) -> list[str]:
    """Describe what PGPOOL SHOW ALL and SHOW POOL_NODES tell apart."""

    def find() -> list[str]:
        pooler_files.renew_lock(running.pooler)
        with sql.open(running.pooler) as session:
            return _differences(running.shown, _shown(session))

    return _steady(find)


def reload(pooler: Pooler) -> None:
    """Have it read its files, and wait until the settings of the panel's part are live. Raises `Rejected`."""
    pcp.reload_config(pooler)
    files = pooler_files.read(pooler, [MAIN]) if pooler.config_dir else {}
    written = render.values_in(render.ours((files.get(MAIN) or b"").decode(errors="surrogateescape")))
    if late := _steady(lambda: _late(pooler, written)):
        text = _("%(names)s is not live %(seconds)d s after the reload")
        raise Rejected(text % {"names": ", ".join(late), "seconds": SEEN_WITHIN_S}, settings=True)


def _late(pooler: Pooler, written: Mapping[str, str]) -> list[str]:
    """Return the settings that a child has not taken from a reload."""
    with sql.open(pooler) as session:
        live = sql.settings(session)
    known = settings_catalog.by_name(settings_catalog.OLDEST)
    wrong = verify.differences(live, written, known)
    return [name for name in wrong if not verify.waits_for_restart(name, known)]


def _steady(find: Callable[[], list[str]]) -> list[str]:
    """Return what is found at the deadline; nothing once nothing was found for a while, whichever child answered."""
    deadline, since = time.monotonic() + SEEN_WITHIN_S, time.monotonic()
    while True:
        found, now = find(), time.monotonic()
        since = now if found else since
        if (found and now > deadline) or (not found and now - since >= STEADY_S):
            return found
        time.sleep(POLL_S)


def undone(now: str, kept: str, version: Version) -> dict[str, str]:
    """Return the values that settings of the panel's part have where nobody sets them: a reload leaves them alone."""
    known = settings_catalog.by_name(version)
    gone = set(render.values_in(render.ours(now))) - set(render.values_in(kept))
    user = "" if version >= EMPTY_USERS_SINCE else "nobody"
    managed = {"enable_pool_hba": "off", **dict.fromkeys(CHECK_USERS, user)}  # where nobody sets them
    values = {name: managed.get(name, known[name].default if name in known else None) for name in sorted(gone)}
    return {
        name: value
        for name, value in values.items()
        if value is not None and not name.startswith("backend_") and not verify.waits_for_restart(name, known)
    }


def _shown(session: sql.Session) -> dict[str, Mapping[str, str]]:
    nodes = {f"SHOW POOL_NODES {row['node_id']}": _node(row) for row in sql.rows(session, "pool_nodes")}
    return {"PGPOOL SHOW ALL": sql.settings(session), **nodes}


def _node(row: Mapping[str, object]) -> dict[str, str]:
    values = {column: str(row.get(column) or "") for column in NODE}
    return {**values, "status": UP.get(values["status"], values["status"])}


def _differences(before: Shown, after: Shown) -> list[str]:
    found = [_("%(word)s is gone") % {"word": word} for word in before.keys() - after.keys()]
    found += [_("%(word)s has come") % {"word": word} for word in after.keys() - before.keys()]
    for word in before.keys() & after.keys():
        was, now = before[word], after[word]
        found += [
            f"{word}: {name} {was.get(name)} → {now.get(name)}"
            for name in was.keys() | now.keys()
            if was.get(name) != now.get(name)
        ]
    return sorted(found)
