"""Database connections that write the entries of a transaction just before it commits."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

if TYPE_CHECKING:  # connections are made before models are loaded
    from core.audit.models import Entry


class KeptEntry(NamedTuple):
    """An entry that waits for the commit, and the savepoints that it is within."""

    entry: "Entry"
    savepoints: frozenset[str]


class RecordingConnection(BaseDatabaseWrapper):
    """Mixed into Django's connections. Entries are dropped with the transaction or savepoint that is rolled back."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kept: list[KeptEntry] = []

    def keep(self, entry: "Entry") -> None:
        """Keep an entry until the commit."""
        self.kept.append(KeptEntry(entry, frozenset(filter(None, self.savepoint_ids))))

    def commit(self) -> None:
        """Write what is kept, then commit; where it can't be written, Django rolls the transaction back."""
        self.write_kept()
        super().commit()

    def write_kept(self) -> None:
        """Write what is kept now, within the running transaction."""
        if self.kept:
            entries, self.kept = [one.entry for one in self.kept], []
            import_module("core.audit.chain").append(self, entries)

    def rollback(self) -> None:
        """Roll back, and forget what was kept."""
        self.kept = []
        super().rollback()

    def close(self) -> None:
        """Close the connection, and forget what was kept."""
        self.kept = []
        super().close()

    def savepoint_rollback(self, sid: str) -> None:
        """Roll back to a savepoint, and forget what was kept since."""
        self.kept = [one for one in self.kept if sid not in one.savepoints]
        super().savepoint_rollback(sid)
