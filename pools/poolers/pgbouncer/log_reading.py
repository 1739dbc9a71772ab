"""Reads the ends of the logs of a PgBouncer's processes, from the host that its files lie on."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from django.utils.translation import gettext as _

from pools import task_queue
from pools.config_files import deliveries
from pools.errors import PoolerUnreachable
from pools.hosts.base import HostConnection, HostRefused
from pools.models import Pooler
from pools.poolers.pgbouncer import console, kept_consoles, log_lines, process_files
from pools.poolers.pooler_log import LogEnd, LogUnreadable

LAST_BYTES = 256 * 1024  # of each process


def read(pooler: Pooler, main_file: str) -> LogEnd:
    """Read the last lines of each process's log, rotated ones included; `main_file` is that of a single process.

    Raises `LogUnreadable`, `HostUnreachable`.
    """
    _refuse_elsewhere(pooler)
    with deliveries.of(pooler).connected(pooler) as host:
        if host is None:
            raise LogUnreadable(_("the panel has no way to the host of pooler %(pooler)s") % {"pooler": pooler})
        paths = list(dict.fromkeys(_paths(pooler, main_file)))
        texts = [_text(host, path) for path in paths]
    lines = [line for text in texts for line in log_lines.parse(text)]
    return LogEnd(sorted(lines, key=lambda line: line.at), paths)


def _refuse_elsewhere(pooler: Pooler) -> None:
    if pooler.is_watched:
        text = _("the panel only watches pooler %(pooler)s and knows none of its files: take it over to read its log")
        raise LogUnreadable(text % {"pooler": pooler})
    delivery = deliveries.of(pooler)
    if delivery.needs_worker and not task_queue.is_ours(pooler):
        text = _(
            "the log of pooler %(pooler)s lies on the host of generator %(generator)s, where this process can't read"
        )
        raise LogUnreadable(text % {"pooler": pooler, "generator": pooler.generator})


def _paths(pooler: Pooler, main_file: str) -> Iterator[str]:
    """Yield the log of each main file; of one that can't be read, what the console says. Raises `LogUnreadable`."""
    of_processes = [row["main_file"] for row in pooler.processes if row["main_file"]]
    for path_of_main in of_processes or [main_file]:
        settings = process_files.settings_of(pooler, PurePosixPath(path_of_main))
        path = settings.get("logfile") or _shown(pooler)
        if not path and not settings:
            text = _("%(path)s can't be read and the console is silent, so where the log lies is not known")
            raise LogUnreadable(text % {"path": path_of_main})
        if not path:
            text = _(
                "logfile of pooler %(pooler)s is not set: its messages go where its standard error goes, such as the "
                "journal of its host (journalctl)"
            )
            raise LogUnreadable(text % {"pooler": pooler})
        if not path.startswith("/"):
            text = _("%(path)s is relative, so it depends on where PgBouncer was started: set logfile to a whole path")
            raise LogUnreadable(text % {"path": path})
        yield path


def _shown(pooler: Pooler) -> str:
    """Return the logfile in SHOW CONFIG; empty where the console is silent."""
    try:
        with kept_consoles.lent(pooler) as connection:
            config = {str(row["key"]): str(row["value"] or "") for row in console.rows(connection, "config")}
    except PoolerUnreachable:
        return ""
    return config.get("logfile", "")


def _text(host: HostConnection, path: str) -> str:
    try:
        found = host.tail(path, LAST_BYTES)
    except HostRefused as error:
        raise LogUnreadable(str(error)) from error
    if found is None:
        text = _("%(path)s is not there, or the panel's account on that host may not enter its folder")
        raise LogUnreadable(text % {"path": path})
    return found.decode(errors="replace")
