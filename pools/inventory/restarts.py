"""Tells the restarts of a pooler between two checks, by the processes that each found."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from django.utils import timezone

from pools.config_files import deliveries
from pools.models import Pooler, ProcessRow, Restart, RestartEvidence
from pools.poolers import KINDS, local_process

KNOWN_TO = timedelta(seconds=1)  # The kernel counts the start of a process from a boot known to the second.


def between(pooler: Pooler, before: Sequence[ProcessRow], after: Sequence[ProcessRow]) -> list[Restart]:
    """Return a restart of each process whose place another one has by now; nothing is saved.

    One that is older than the last edit of the pooler was started before the panel looked there.
    """
    found = [(row["name"], _started_at(pooler, row)) for row in _replaced(before, after)]
    several = len(after) > 1
    return [
        Restart(pooler=pooler, at=at, process=name if several else "", evidence=RestartEvidence.PROCESS)
        for name, at in found
        if at + KNOWN_TO > pooler.updated_at
    ]


def _replaced(before: Iterable[ProcessRow], after: Iterable[ProcessRow]) -> Iterator[ProcessRow]:
    pids = {_place(row): row["pid"] for row in before}
    return (row for row in after if row["pid"] and pids.get(_place(row), row["pid"]) not in (None, row["pid"]))


def _place(row: ProcessRow) -> tuple[str, str]:
    return row["main_file"], row["socket"]


def _started_at(pooler: Pooler, row: ProcessRow) -> datetime:
    """Return when a process started, where it runs on this host; else the present, since it was noticed now."""
    if deliveries.of(pooler).runs_here and row["pid"]:
        return local_process.started_at(row["pid"], KINDS[pooler.kind].program) or timezone.now()
    return timezone.now()
