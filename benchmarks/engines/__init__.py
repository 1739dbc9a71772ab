"""The load programs that a run can use; a new one is a folder here and a line below.

An engine is a package with `FIELDS`, `fields_for` and `validate` (its options), `find` (the program), `build_command`
and `preview`, `LineReader` and `read_line` (its progress as it comes), `read_output` (all that it printed).
"""

from types import ModuleType

from benchmarks.engines import pgbench
from benchmarks.errors import BenchmarksError

ENGINES: dict[str, ModuleType] = {
    "pgbench": pgbench,
}


def engine(name: str) -> ModuleType:
    """The engine of this name; raises `BenchmarksError` naming those there are."""
    if name not in ENGINES:
        raise BenchmarksError(f"{name!r} is not an engine here; use {', '.join(ENGINES)}")
    return ENGINES[name]
