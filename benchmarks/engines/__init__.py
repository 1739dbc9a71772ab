"""The load programs that a run can use; a new one is a folder here and a line below.

An engine is a package with `fields_for(purpose)` and `validate` (its options), `find` (the program), `build_command`
and `preview`, `hear` (what a line of it says while it runs) and `read_output` (all that it printed,
by which `benchmarks.validity` judges), and `tables_of` (what it loads or makes in the database, None where that is
nothing). The shapes they share stand in `benchmarks.engines.contract`.
"""

from types import ModuleType

from benchmarks.engines import pgbench
from benchmarks.errors import BenchmarksError

ENGINES: dict[str, ModuleType] = {
    "pgbench": pgbench,
}
DEFAULT_ENGINE = "pgbench"


def engine(name: str) -> ModuleType:
    """The engine of this name; raises `BenchmarksError` naming those there are."""
    if name not in ENGINES:
        raise BenchmarksError(f"{name!r} is not an engine here; use {', '.join(ENGINES)}")
    return ENGINES[name]
