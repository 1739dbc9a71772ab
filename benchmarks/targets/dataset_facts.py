"""What a database holds of an engine's tables, and the reasons why a load or a preparation must not use it; pure."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from benchmarks.engines.base import Tables


@dataclass(frozen=True)
class DatasetFacts:
    """The wanted tables as a database has them; sizes in bytes, `free_bytes` None where it can't be known.

    `scale` is their size in the engine's own unit, None where unknown. `unfinished` tables were left by a broken-off
    preparation; `oids` are in the order of `tables`.
    """

    database: str
    protected: bool
    database_owner: str
    wanted: Tables
    tables: tuple[str, ...] = ()
    oids: tuple[int, ...] = ()
    table_owner: str = ""
    ours: bool = False
    unfinished: bool = False
    scale: int | None = None
    size_bytes: int = 0
    free_bytes: int | None = None
    dependents: tuple[str, ...] = ()

    @property
    def tables_exist(self) -> bool:
        """True if any of the tables exists."""
        return bool(self.tables)

    @property
    def complete(self) -> bool:
        """True if all tables exist and are finished, with rows unless they must be empty."""
        whole = len(self.tables) == len(self.wanted.names) and not self.unfinished
        return whole and bool(self.scale) != self.wanted.needed_empty

    @property
    def rows(self) -> int:
        """The rows of the tables that grow with the scale."""
        return self.wanted.rows_each * (self.scale or 0)

    @property
    def sized(self) -> str:
        """The size of the wanted tables, as their engine words it."""
        return self.wanted.of_size(self.scale)

    def fits(self, size_bytes: int) -> bool | None:
        """Test whether that size fits, given that it replaces what exists; None where the free space is unknown."""
        return None if self.free_bytes is None else size_bytes <= self.free_bytes + self.size_bytes


def why_confirm(found: DatasetFacts, cluster: str) -> str:
    """Return why a preparation needs the database's name typed; empty where it does not."""
    words = {"database": found.database, "tables": ", ".join(found.tables), "cluster": cluster}
    if found.tables_exist and not found.ours:
        text = _(
            "%(database)s holds %(tables)s that this panel did not make, and they would be lost: "
            "type the database's name, %(database)s, to go on"
        )
    elif found.protected:
        text = _(
            "cluster %(cluster)s is protected, and preparing writes to it: "
            "type the database's name, %(database)s, to go on"
        )
    else:
        return ""
    return text % words


def fault(found: DatasetFacts) -> str:
    """Return why a load can't use these tables, with the remedy; empty where it can."""
    text = _format(found)
    sizes = {"size": found.sized, "asked": found.wanted.of_size(found.wanted.size)}
    return text and text % (sizes | {"database": found.database, "kind": found.wanted.kind})


def _format(found: DatasetFacts) -> str:
    tables = found.wanted
    if found.unfinished:
        return _("%(database)s holds %(kind)s tables that a broken-off preparation left: prepare again")
    if len(found.tables) < len(tables.names):
        return _("%(database)s lacks %(kind)s tables: prepare a dataset first")
    if tables.needed_empty and found.scale:
        return _("%(database)s holds rows in its %(kind)s tables, which this load fills from the start: prepare again")
    if tables.needed_empty:
        return ""
    if not found.scale:
        return _("%(database)s holds no rows in its %(kind)s tables: prepare a dataset first")
    if found.scale < tables.size:
        return _(
            "the %(kind)s tables of %(database)s (%(size)s) are smaller than asked for (%(asked)s): "
            "prepare a larger dataset or ask for less"
        )
    return ""
