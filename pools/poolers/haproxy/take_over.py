"""What a running HAProxy has, for a take-over: its files, what it shows, and what a reload would change of that."""

import copy
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath

from django.utils.translation import gettext as _

from pools.config_files import pooler_files
from pools.errors import PoolsError
from pools.models import Pooler
from pools.poolers.haproxy import master_process, operators_config, render, stats_page, stats_socket
from pools.poolers.haproxy.operators_config import BACKS, FRONTS, FileSet, Section
from pools.poolers.haproxy.stats_socket import MAIN

# Columns of SHOW STAT that no traffic changes; `status` settles with the first health checks of a worker.
LASTING = (
    *("type", "iid", "sid", "mode", "algo", "addr", "cookie", "slim", "qlimit", "rate_lim", "weight", "uweight"),
    *("act", "bck", "check_rise", "check_fall", "status", "tracked"),
)
INFO = ("Version", "Nbthread", "Maxconn", "Hard_maxconn", "ConnRateLimit", "SessRateLimit", "node")
SETTLED_WITHIN_S = 30  # checks that take longer than this to find a server down again are rare
POLL_S = 0.2
FORCED, DRAINED, AS_CONFIGURED = 0x01, 0x08, 0x04  # bits of srv_admin_state (management guide, "show servers state")
Shown = Mapping[str, Mapping[str, Mapping[str, str]]]  # word of SHOW → row → its lasting values


@dataclass
class RunningHAProxy:
    """An HAProxy as it runs: `pooler` is its record as the take-over would make it."""

    pooler: Pooler
    files: FileSet
    sections: list[Section]
    shown: Shown
    version_text: str

    @property
    def fronts(self) -> list[Section]:
        """Its proxies to which clients connect."""
        return [one for one in self.sections if one.kind in FRONTS and not one.is_disabled]

    @property
    def through(self) -> tuple[str, str] | None:
        """The operator's proxy and backend that have the pooler's own port, so that pools are reached through them."""
        return operators_config.through(self.sections, self.pooler.port)

    def blockers(self) -> Iterator[str]:
        """Yield why its files can't be taken over as they are."""
        for path, why in self.files.unread.items():
            if path.endswith(".cfg"):
                yield _("%(path)s can't be read here: %(reason)s") % {"path": path, "reason": why}
        for file in self.files.configs:
            if render.MARK in file.text:
                text = _("%(path)s has lines of a panel already: remove them, then take it over")
                yield text % {"path": file.path}
        if stats_page.is_page(self.pooler.stats_address):
            yield _("it is known by its stats page alone, which can't tell what a reload does: give its stats socket")
            return
        for ask in (partial(master_process.find, self.pooler), partial(stats_socket.digest, self.pooler)):
            try:
                ask()
            except PoolsError as error:
                yield str(error)
        yield from self._not_live()
        yield from self._by_commands()

    def notes(self) -> Iterator[str]:
        """Yield what a reload of this HAProxy does whatever its files say."""
        yield _(
            "Each apply starts a new worker, whose counters begin at 0; clients that are connected stay with the old "
            "one until they leave."
        )
        for section in self.sections:
            if section.kind == "global" and (seconds := section.last("hard-stop-after")):
                text = _(
                    "hard-stop-after %(time)s is set: clients of the old worker are cut off %(time)s after an apply."
                )
                yield text % {"time": seconds}
        if any(one.all("stick-table") for one in self.sections) and not any(
            one.kind == "peers" for one in self.sections
        ):
            yield _("Its stick tables begin empty after each apply, as it has no peers section to keep them.")

    def _not_live(self) -> Iterator[str]:
        """Yield a sentence that names what the next reload changes, where that shows."""
        wanted = {(one.name, one.kind) for one in self.sections if one.kind in BACKS + FRONTS and not one.is_disabled}
        names = {name for name, _kind in wanted}
        live = {row["pxname"] for row in self.shown["stat"].values()}
        faults = [_("proxy %(name)s") % {"name": name} for name in sorted(names ^ live)]
        servers = {(row["pxname"], row["svname"]): row.get("addr", "") for row in self.shown["stat"].values()}
        for one in self.sections:
            if one.kind in BACKS and not one.is_disabled and one.name in live:
                found = {words[0] for words in one.all("server") if words}
                there = {name for px, name in servers if px == one.name and name not in ("FRONTEND", "BACKEND")}
                if not one.all("server-template"):
                    faults += [_("server %(name)s") % {"name": f"{one.name}/{name}"} for name in sorted(found ^ there)]
                faults += list(_moved(one, servers))
        if faults:
            text = _("its files differ from what HAProxy runs with (%(changed)s): reload it, or restore them")
            yield text % {"changed": "; ".join(faults)}

    def _by_commands(self) -> Iterator[str]:
        """Yield a sentence that names what commands of the Runtime API changed, which no reload keeps."""
        changed = []
        for row in stats_socket.show(self.pooler, "servers"):
            state = int(str(row["srv_admin_state"]))
            is_forced = bool(state & FORCED) != bool(state & AS_CONFIGURED) or state & DRAINED
            if is_forced or row["srv_uweight"] != row["srv_iweight"]:
                changed.append(f"{row['be_name']}/{row['srv_name']}")
        if changed:
            text = _(
                "the state or the weight of %(servers)s was changed by a command (set server) or an agent, which a "
                "reload undoes: write it into the file and reload it, or set it back"
            )
            yield text % {"servers": ", ".join(changed)}


def inspect(pooler: Pooler, config_file: str) -> RunningHAProxy:
    """Read all that an HAProxy reads and shows. Raises `Unreadable`, `PoolerUnreachable`."""
    info = stats_socket.info(pooler)
    files = operators_config.read(pooler, config_file, int(info.get("Pid") or 0))
    taken = copy.copy(pooler)
    taken.config_file, taken.config_dir = files.main, str(PurePosixPath(files.main).parent)
    taken.file_paths = {MAIN: files.main}
    version_text = f"HAProxy {info.get('Version', '')}".strip()
    running = RunningHAProxy(taken, files, files.sections, show(pooler), version_text)
    if running.through:
        limit = running.shown["stat"].get(f"{running.through[0]}/FRONTEND", {}).get("slim", "")
        taken.facts = {"maxconn": int(limit)} if limit.isdigit() else {}
    return running


def show(pooler: Pooler) -> Shown:
    """Return all that a take-over must not change. Raises `PoolerUnreachable`."""
    rows = stats_socket.show(pooler, "stat")
    stat = {f"{row['pxname']}/{row['svname']}": _lasting(row) for row in rows}
    info = stats_socket.info(pooler)
    return {"stat": stat, "info": {"": {name: info[name] for name in INFO if name in info}}}


def differences(running: RunningHAProxy) -> list[str]:
    """Describe what SHOW STAT and SHOW INFO tell apart, once the health checks of the new worker have settled."""
    deadline = time.monotonic() + SETTLED_WITHIN_S
    while (found := _differences(running.shown, show(running.pooler))) and time.monotonic() < deadline:
        pooler_files.renew_lock(running.pooler)
        time.sleep(POLL_S)
    return found


def _differences(before: Shown, after: Shown) -> list[str]:
    found = []
    for word, rows in before.items():
        named = {"word": word.upper()}
        found += [_("SHOW %(word)s has lost %(name)s") % {**named, "name": name} for name in rows.keys() - after[word]]
        found += [_("SHOW %(word)s has got %(name)s") % {**named, "name": name} for name in after[word].keys() - rows]
        for name in rows.keys() & after[word].keys():
            was, now = rows[name], after[word][name]
            found += [
                f"SHOW {word.upper()} {name}: {column} {was.get(column)} → {now.get(column)}".replace("  ", " ")
                for column in was.keys() | now.keys()
                if was.get(column) != now.get(column)
            ]
    return sorted(found)


def _lasting(row: Mapping[str, object]) -> dict[str, str]:
    values = {column: str(row.get(column) or "") for column in ("pxname", "svname", *LASTING)}
    return {**values, "status": re.sub(r" \d+/\d+$", "", values["status"])}


def _moved(section: Section, live: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """Yield the servers whose address in the file is another one than the live one, where both are addresses."""
    for words in section.all("server"):
        found = live.get((section.name, words[0]), "")
        if len(words) > 1 and found and re.fullmatch(r"[\d.]+:\d+", words[1]) and words[1] != found:
            yield f"{section.name}/{words[0]} {found} → {words[1]}"
