"""The load programs that a run can use; a new one is a folder here and a line below.

An engine is a package with `fields_for(purpose)` and `validate` (its options), `find` (the program), `build_command`
and `preview`, `hear` (what a line of it says while it runs) and `read_output` (all that it printed, by which
`benchmarks.analysis.validity` judges), and `tables_of` (what it loads or makes in the database, None where that is
nothing). One that makes tables has `dropping` too, and `loading_all` where they have more than one measure; one that
logs single transactions `log_files`, one whose versions differ in options `lacking`, one with loads that several
generators can't share `alone`, one that keeps connections open beside its clients' `kept_open`, one whose runs need a
file of their generator's host `file_needed` and `host_files`. The shapes they share stand in
`benchmarks.engines.base` and `benchmarks.engines.base`.
"""

from types import ModuleType
from typing import Any

from benchmarks.engines import http, jmeter, pgbench, sysbench
from benchmarks.engines.base import LogFiles
from benchmarks.errors import BenchmarksError

ENGINES: dict[str, ModuleType] = {
    "pgbench": pgbench,
    "sysbench": sysbench,
    "http": http,
    "jmeter": jmeter,
}
DEFAULT_ENGINE = "pgbench"


def engine(name: str) -> ModuleType:
    """The engine of this name; raises `BenchmarksError` naming those there are."""
    if name not in ENGINES:
        raise BenchmarksError(f"{name!r} is not an engine here; use {', '.join(ENGINES)}")
    return ENGINES[name]


def log_files(name: str, options: dict[str, Any]) -> LogFiles | None:
    """The logs of transactions that a run with these options writes; None where it writes none."""
    found: LogFiles | None = _asked(name, "log_files", options)
    return found


def lacking(name: str, options: dict[str, Any], version: tuple[int, int]) -> dict[str, list[str]]:
    """Why this version of the program can't do some of the options, by name; empty where it knows all of them."""
    found: dict[str, list[str]] | None = _asked(name, "lacking", options, version)
    return found or {}


def server_refuses(name: str, options: dict[str, Any], version: tuple[int, int], server: int) -> dict[str, list[str]]:
    """Why a server of this major version would not take what this version makes, by option; empty where it would."""
    found: dict[str, list[str]] | None = _asked(name, "server_refuses", options, version, server)
    return found or {}


def alone(name: str, options: dict[str, Any]) -> dict[str, list[str]]:
    """Why several generators can't share this load, by the option that keeps them from it; empty where they can."""
    found: dict[str, list[str]] | None = _asked(name, "alone", options)
    return found or {}


def kept_open(name: str, options: dict[str, Any]) -> dict[str, int]:
    """The connections that something of the engine's own keeps open through a run, by the option that bounds them."""
    found: dict[str, int] | None = _asked(name, "kept_open", options)
    return found or {}


def file_needed(name: str, options: dict[str, Any]) -> tuple[str, str] | None:
    """The option and the name of the file of its generator's host that a run needs; None where it needs none."""
    found: tuple[str, str] | None = _asked(name, "file_needed", options)
    return found


def host_files(name: str) -> dict[str, str] | None:
    """Files of this host that runs may name → why they can't be used (empty: they can); None where they name none."""
    found: dict[str, str] | None = _asked(name, "host_files")
    return found


def dropping(name: str, made: dict[str, Any]) -> dict[str, Any]:
    """The options of a preparation that removes what one with these options made; empty where the engine can't."""
    found: dict[str, Any] | None = _asked(name, "dropping", made)
    return found or {}


def loading_all(name: str, made: dict[str, Any]) -> dict[str, Any]:
    """The options of a run that loads all that a preparation with these options made; empty where any run does."""
    found: dict[str, Any] | None = _asked(name, "loading_all", made)
    return found or {}


def _asked(name: str, what: str, *given: Any) -> Any:
    """What an engine answers that may leave the question out: then None."""
    tells = getattr(engine(name), what, None)
    return tells(*given) if tells else None
