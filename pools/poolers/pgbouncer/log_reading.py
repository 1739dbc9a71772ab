"""Reads the ends of the logs of a PgBouncer's processes, from the host that its files lie on."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath

from django.utils.translation import gettext as _

from pools import task_queue
from pools.config_files import deliveries
from pools.errors import PoolerUnreachable
from pools.hosts.base import HostConnection, HostRefused, LogPart, LogPosition
from pools.models import Pooler
from pools.poolers.pgbouncer import console, kept_consoles, log_lines, process_files
from pools.poolers.pooler_log import LogEnd, LoginLog, LogNews, LogUnreadable

LAST_BYTES = 256 * 1024  # of each process
NEWS_BYTES = 4 * 1024 * 1024  # of each file: some 30,000 lines, which take half a second twice a minute
REFUSAL_SETTINGS = ("log_pooler_errors", "log_disconnections")  # each is 1 unless it is set


def read(pooler: Pooler, main_file: str) -> LogEnd:
    """Read the last lines of each process's log, rotated ones included; `main_file` is that of a single process.

    Raises `LogUnreadable`, `HostUnreachable`.
    """
    with _host_of(pooler) as host:
        paths = list(dict.fromkeys(path for path, _settings in _logs(pooler, main_file)))
        texts = [_text(host, path) for path in paths]
    lines = [line for text in texts for line in log_lines.parse(text)]
    return LogEnd(sorted(lines, key=lambda line: line.at), paths)


def _paths_with_refusals(pooler: Pooler, main_file: str) -> list[str]:
    """Return the log of each process; see `LoginLog`."""
    with _host_of(pooler):
        logs = dict(_logs(pooler, main_file))
    for path, settings in logs.items():
        if all(settings.get(name, "1") == "0" for name in REFUSAL_SETTINGS):
            text = _(
                "log_pooler_errors and log_disconnections are 0, so that %(path)s does not tell of refused logins: set "
                "log_pooler_errors to 1"
            )
            raise LogUnreadable(text % {"path": path})
    return list(logs)


def _news(pooler: Pooler, paths: Sequence[str], positions: Mapping[str, LogPosition]) -> LogNews:
    """Read what is new in each log; see `LoginLog`."""
    with _host_of(pooler) as host:
        parts = {path: list(_parts_after(host, path, positions.get(path))) for path in paths}
    texts = [(path, part, _whole_lines(part)) for path, found in parts.items() for part in found]
    return LogNews(
        [line for _path, _part, text in texts for line in log_lines.parse(text.decode(errors="replace"))],
        {path: part.read_to(len(text)) for path, part, text in texts},
        sum(part.skipped for found in parts.values() for part in found),
    )


LOGINS = LoginLog(_paths_with_refusals, _news)


def _parts_after(host: HostConnection, path: str, position: LogPosition | None) -> Iterator[LogPart]:
    """Yield the rest of a file that a rotation put aside, and what the log of this name has gained."""
    part = _part_after(host, path, position)
    yield part
    if part.is_rotated:
        yield _part_after(host, path, part.read_to(len(part.content)))


def _part_after(host: HostConnection, path: str, position: LogPosition | None) -> LogPart:
    try:
        part = host.read_after(path, position, NEWS_BYTES)
    except HostRefused as error:
        raise LogUnreadable(str(error)) from error
    if part is None:
        raise _absent(path)
    return part


def _whole_lines(part: LogPart) -> bytes:
    """Return its bytes up to the last line break; all where one line is longer than what is read."""
    end = part.content.rfind(b"\n") + 1
    return part.content[:end] if end or len(part.content) < NEWS_BYTES else part.content


@contextmanager
def _host_of(pooler: Pooler) -> Iterator[HostConnection]:
    """Give a connection to the host of its logs. Raises `LogUnreadable`, `HostUnreachable`."""
    _refuse_elsewhere(pooler)
    with deliveries.of(pooler).connected(pooler) as host:
        if host is None:
            raise LogUnreadable(_("the panel has no way to the host of pooler %(pooler)s") % {"pooler": pooler})
        yield host


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


def _logs(pooler: Pooler, main_file: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the log of each main file with its settings; of one that can't be read, the log that the console shows.

    Raises `LogUnreadable`.
    """
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
        yield path, settings


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
        raise _absent(path)
    return found.decode(errors="replace")


def _absent(path: str) -> LogUnreadable:
    text = _("%(path)s is not there, or the panel's account on that host may not enter its folder")
    return LogUnreadable(text % {"path": path})
