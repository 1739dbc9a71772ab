"""Main files of PgBouncers that would share the port (so_reuseport), whether a process runs with them or not."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

import psutil
from django.utils.translation import gettext as _

from pools.config_files import deliveries, pooler_files
from pools.errors import PoolerUnreachable
from pools.hosts.base import FileFacts, HostRefused
from pools.models import Pooler, ProcessRow, ProcessState
from pools.poolers.pgbouncer import global_settings, operators_config, sharing
from pools.poolers.pgbouncer.global_settings import SETTINGS
from pools.poolers.pgbouncer.processes import Process
from pools.poolers.pgbouncer.render import SETTINGS_INCLUDE


def rows(pooler: Pooler, found: Sequence[Process]) -> list[ProcessRow]:
    """Return a row for each process that answers, then one for each main file with which none answers."""
    return [*(one.row() for one in found), *_stopped_processes(pooler, found)]


def require_all(pooler: Pooler, found: Sequence[Process]) -> None:
    """Raise `PoolerUnreachable` for a process that was seen before and does not answer: it would not get the pools."""
    gone = [one for one in _stopped_processes(pooler, found) if one["state"] == ProcessState.UNREACHABLE]
    if not gone:
        return
    text = _(
        "pooler %(pooler)s shares port %(port)s among several processes (so_reuseport), and nothing is applied while "
        "one does not answer: %(gone)s; start it, or move its main file away where it is gone for good"
    )
    params = {"pooler": pooler, "port": pooler.port, "gone": ", ".join(map(_process_label, gone))}
    raise PoolerUnreachable(text % params)


def _process_label(row: ProcessRow) -> str:
    params = {"file": row["main_file"], "socket": row["socket"] or _("none")}
    return _("the one of %(file)s (socket %(socket)s)") % params


def _stopped_processes(pooler: Pooler, found: Sequence[Process]) -> Iterator[ProcessRow]:
    """Yield a row for each main file beside theirs that names the same port, and with which none of them runs."""
    if found[0].config.get("so_reuseport") != "1":
        return
    names = {one.name for one in found}
    online = {one["name"] for one in pooler.processes if one["state"] != ProcessState.STOPPED}
    # These end because fewer processes are desired.
    surplus = set(sharing.names_of(pooler)[max(0, pooler.desired_processes - 1) :])
    for path in _mains(pooler, found):
        own = {} if path.name in names else settings_of(pooler, path)
        if own.get("so_reuseport") != "1" or own.get("listen_port") != str(pooler.port):
            continue
        yield {
            "name": path.name,
            "main_file": str(path),
            "pid": None,
            "socket": own.get("unix_socket_dir", ""),
            "peer_id": (int(own["peer_id"]) if own.get("peer_id", "").isdigit() else 0) or None,
            "version": "",
            "state": (ProcessState.UNREACHABLE if path.name in online - surplus else ProcessState.STOPPED).value,
        }


def _mains(pooler: Pooler, found: Sequence[Process]) -> Sequence[PurePosixPath]:
    """Return the files beside theirs that may be main files, in order; none where that folder is out of reach."""
    folder = _folder(pooler, found)
    if folder is None:
        return []
    if deliveries.of(pooler).needs_host:
        entries = _listed(pooler, folder)
        return sorted(folder / one.name for one in entries if one.is_file and one.name.endswith(".ini"))
    return sorted(PurePosixPath(one) for one in Path(folder).glob("*.ini"))


def _listed(pooler: Pooler, folder: PurePosixPath) -> Sequence[FileFacts]:
    """List a folder there; empty where the panel's account may not."""
    with deliveries.of(pooler).connected(pooler) as host:
        try:
            return host.list_folder(str(folder)) if host else []
        except HostRefused:
            return []


def _folder(pooler: Pooler, found: Sequence[Process]) -> PurePosixPath | None:
    """Return the folder of their main files; None where its files can't be read from here."""
    if pooler.config_dir:
        return PurePosixPath(pooler.config_dir) if deliveries.of(pooler).writes else None
    for one in found:
        conffile = PurePosixPath(one.config.get("conffile", ""))
        if deliveries.of(pooler).needs_host:
            return conffile.parent if conffile.is_absolute() else None
        with suppress(psutil.Error, OSError):
            if one.pid is not None:
                return PurePosixPath(psutil.Process(one.pid).cwd(), conffile).parent
    return None


def settings_of(pooler: Pooler, path: PurePosixPath) -> Mapping[str, str]:
    """Return the settings of a main file with all that it includes; empty where it can't be read."""

    def load(included: str) -> str:
        return pooler_files.text_at(pooler, str(PurePosixPath(path.parent, included)))

    try:
        main = pooler_files.text_at(pooler, str(path))
        own, panels = operators_config.read(main, {}, load).values("pgbouncer"), {}
        with suppress(FileNotFoundError):
            panels = global_settings.written(load(SETTINGS)) if SETTINGS_INCLUDE.search(main) else {}
        return own | sharing.of_process(pooler, path.name, panels)
    except OSError:
        return {}
