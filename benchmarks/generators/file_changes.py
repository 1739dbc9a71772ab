"""Detects changes of the files on this host that runs may name, by polling their folders."""

import os
from collections.abc import Iterator

from django.conf import settings

Seen = frozenset[tuple[str, int]]


class Watch:
    """Polls the folders; the first poll finds no change."""

    def __init__(self) -> None:
        self._seen: Seen | None = None

    def found_change(self) -> bool:
        """Return whether a plan or a script was added, removed or written since the last poll."""
        before, self._seen = self._seen, _files()
        return before is not None and before != self._seen


def _files() -> Seen:
    """Return each file with its modification time; unreadable folders are left out."""
    folders = (settings.JMETER_PLANS, settings.SYSBENCH_SCRIPTS)
    return frozenset(one for folder in folders if folder for one in _of(folder))


def _of(folder: str) -> Iterator[tuple[str, int]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith((".jmx", ".lua")):
                    yield entry.path, entry.stat().st_mtime_ns
    except OSError:
        return
