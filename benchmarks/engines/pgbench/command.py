"""Command line and environment of one pgbench, from checked options; pure.

Everything about the connection but the password is one connection string in the last argument. pgbench passes it to
libpq with expand_dbname, which expands once: a database named `host=elsewhere`, `postgresql://…` or `-i` stays a name.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path

from psycopg.conninfo import make_conninfo

from benchmarks.engines.option_parsing import as_text
from benchmarks.engines.pgbench import scripts, variables
from benchmarks.engines.pgbench.option_catalog import LOAD, PREPARE
from benchmarks.engines.pgbench.options import passed, unsupported_options
from benchmarks.engines.pgbench.typed_options import PgbenchOptions
from benchmarks.engines.process_environment import libpq_environment, minimal_environment
from benchmarks.errors import InvalidOptions
from benchmarks.processes.command import Command
from pools.clusters.endpoints import Endpoint

_NO_FLAGS = ("builtins", "scripts", "variables", "stages")  # kinds of options that need more than a flag
_ROWS_OF_PROGRESS = 100  # pgbench -i prints one line for each 100,000 rows: one for each unit of scale


def build_command(
    options: PgbenchOptions,
    *,
    purpose: str,
    binary: str,
    home: Path,
    endpoint: Endpoint,
    application_name: str,
    version: tuple[int, int],
) -> Command:
    """Build the command for a run's private home, which holds the password in `pgpass`.

    Raises `InvalidOptions` for an option that this version does not have, and for a script that it must not be given.
    """
    if errors := unsupported_options(options, version):
        raise InvalidOptions(errors)
    files = scripts.files(options)
    return Command(
        _arguments(options, purpose, binary, endpoint),
        minimal_environment(home) | {"PG_COLOR": "never"} | libpq_environment(home, application_name, endpoint),
        files,
        confined=bool(files),
        sockets=(endpoint.address,) if endpoint.is_socket else (),
    )


def preview(options: PgbenchOptions, endpoint: Endpoint, *, purpose: str = LOAD, binary: str = "pgbench") -> str:
    """Return the same arguments quoted for a shell."""
    return shlex.join(_arguments(options, purpose, binary, endpoint))


def _arguments(options: PgbenchOptions, purpose: str, binary: str, endpoint: Endpoint) -> list[str]:
    # Without -n a run would truncate pgbench_history; -d is debug up to 16 and the database from 17, so unused.
    start = ["-i", *_quiet(options)] if purpose == PREPARE else ["-n"]
    return [binary, *start, *_flags(options, purpose), _connection_string(endpoint)]


def _quiet(options: PgbenchOptions) -> list[str]:
    """Return -q (a line every 5 s) for large datasets, to keep the output short; small ones need every line."""
    return ["-q"] if (options.get("scale") or 1) > _ROWS_OF_PROGRESS else []


def _flags(options: PgbenchOptions, purpose: str) -> Iterator[str]:
    yield from (word for script in scripts.weighted_scripts(options) for word in script.words)
    yield from variables.arguments(options)
    if options.get("percentiles") and (prefix := options.get("log_prefix")):
        yield f"--log-prefix={prefix}"
    for field, value in passed(options):
        if field.purpose != purpose or field.kind in _NO_FLAGS:
            continue
        if value is True:
            yield field.flag
        elif field.flag.startswith("--"):
            yield f"{field.flag}={as_text(value)}"
        else:
            yield from (field.flag, as_text(value))


def _connection_string(endpoint: Endpoint) -> str:
    return make_conninfo(
        host=endpoint.host,
        port=endpoint.port,
        user=endpoint.user,
        dbname=endpoint.database,
        sslmode=endpoint.sslmode or None,
        sslrootcert=endpoint.sslrootcert or None,
        **dict(endpoint.parameters),
    )
