"""Command lines of the HTTP load, of the products service and of its table, from checked options; pure.

All three are modules of the panel that run in its own Python, each as a process of its own.
"""

import platform
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.engines.binaries import Program
from benchmarks.engines.http.options import DROP, LOAD, OF_POOL, PREPARE, aim_of, fields_for
from benchmarks.engines.http.typed_options import HttpOptions
from benchmarks.engines.load_output import LOG
from benchmarks.engines.process_environment import libpq_environment, python_environment
from benchmarks.processes.command import Command
from pools.clusters.endpoints import Endpoint

TARGET = "target.json"


def find() -> Program:
    """Return the panel's own Python, which always exists."""
    version = sys.version_info
    return Program(sys.executable, f"Python {platform.python_version()}", (version.major, version.minor))


def build_command(
    options: HttpOptions,
    *,
    purpose: str,
    binary: str,
    home: Path,
    endpoint: Endpoint,
    application_name: str,
    version: tuple[int, int],
) -> Command:
    """Build the command for a run's private home, which holds the password in `pgpass` and the target in a file."""
    env = environment(home, endpoint, application_name) if purpose == PREPARE else python_environment(home)
    return Command(_arguments(options, purpose, binary), env)


def preview(options: HttpOptions, endpoint: Endpoint, *, purpose: str = LOAD, binary: str = "python") -> str:
    """Return the same arguments quoted for a shell, with the target and the pool of its service as a comment."""
    line = shlex.join(_arguments(options, purpose, binary))
    aim = " ".join([aim_of(options), *_pool_flags(options)])
    return f"{line}  # {TARGET}: {aim}" if purpose == LOAD else line


def service_command(
    options: HttpOptions, *, binary: str, home: Path, endpoint: Endpoint, application_name: str
) -> Command:
    """Build the command of the products service, which logs in to that endpoint."""
    argv = [binary, "-m", "benchmarks.load_programs.products.app", *_pool_flags(options)]
    return Command(argv, environment(home, endpoint, application_name))


def environment(home: Path, endpoint: Endpoint, application_name: str) -> dict[str, str]:
    """Return libpq's variables for a program that logs in to PostgreSQL, without the password."""
    encryption = {"PGSSLMODE": endpoint.sslmode, "PGSSLROOTCERT": endpoint.sslrootcert}
    return python_environment(home) | {
        "PGHOST": endpoint.host,
        "PGPORT": str(endpoint.port),
        "PGUSER": endpoint.user,
        "PGDATABASE": endpoint.database,
        **{name: value for name, value in encryption.items() if value},
        **libpq_environment(home, application_name, endpoint),
    }


def _pool_flags(options: Mapping[str, object]) -> Iterator[str]:
    for name in OF_POOL:
        if isinstance(value := options.get(name), int | float):
            yield f"--{name.replace('_', '-')}={value:g}"


def _arguments(options: HttpOptions, purpose: str, binary: str) -> list[str]:
    if purpose == PREPARE:
        words = ["--drop"] if options.get("action") == DROP else [f"--rows={options['rows']}"]
        return [binary, "-m", "benchmarks.load_programs.products.seed", *words]
    log = [] if options.get("percentiles") is False else [f"--log={LOG}"]
    return [binary, "-m", "benchmarks.load_programs.http_client", f"--target={TARGET}", *_flags(options), *log]


def _flags(options: Mapping[str, object]) -> Iterator[str]:
    for field in fields_for(LOAD):
        value = options.get(field.name)
        if field.flag and isinstance(value, int | float) and value is not False:
            yield field.flag if value is True else f"{field.flag}={value:g}"
