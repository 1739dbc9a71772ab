"""Whether the files of this host that runs may name have changed, by a look into their folders."""

import os
from collections.abc import Iterator

from django.conf import settings

Seen = frozenset[tuple[str, int]]


class Watch:
    """Looks now and then; the first look finds no change."""

    def __init__(self) -> None:
        self._seen: Seen | None = None

    def found_change(self) -> bool:
        """Whether a plan or a script came, went or was written since the last look."""
        before, self._seen = self._seen, _files()
        return before is not None and before != self._seen


def _files() -> Seen:
    """Each with when it was written; nothing of a folder that can't be read."""
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
