"""Command line, environment and script of one sysbench, from checked options; pure.

libpq takes a database name that holds `=` for a connection string and expands it once: given as `dbname='…'`, any name
stays a name. Without --pgsql-password, libpq reads the password from PGPASSFILE.
"""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from psycopg.conninfo import make_conninfo

from benchmarks.engines.process_environment import libpq_environment, minimal_environment
from benchmarks.engines.sysbench import binary as binaries
from benchmarks.engines.sysbench.options import BULK, DROP, LOAD, PREPARE, fields_for, is_tpcc
from benchmarks.engines.sysbench.typed_options import SysbenchOptions
from benchmarks.processes.command import Command
from pools.clusters.endpoints import Endpoint

REMAKE = "remake.lua"
_NOT_PASSED = frozenset({"script", "kind", "action"})


def build_command(
    options: SysbenchOptions,
    *,
    purpose: str,
    binary: str,
    home: Path,
    endpoint: Endpoint,
    application_name: str,
    version: tuple[int, int],
) -> Command:
    """Build the command for a run's private home, which holds the password in `pgpass`.

    Raises `Refused` where tpcc's scripts are missing on this host.
    """
    folder = binaries.tpcc_folder() if is_tpcc(options) else None
    argv = _arguments(options, purpose, binary, endpoint, folder)
    files = {REMAKE: remake(options)} if purpose == PREPARE and not is_tpcc(options) else {}
    return Command(argv, _environment(home, application_name, endpoint, folder), files)


def preview(options: SysbenchOptions, endpoint: Endpoint, *, purpose: str = LOAD, binary: str = "sysbench") -> str:
    """Return the same arguments quoted for a shell; tpcc's folder differs by generator and is left out."""
    return shlex.join(_arguments(options, purpose, binary, endpoint, None))


def _arguments(
    options: SysbenchOptions, purpose: str, binary: str, endpoint: Endpoint, folder: Path | None
) -> list[str]:
    report = ["--report-interval=1", "--histogram=on"] if purpose == LOAD else []
    words = [binary, "--db-driver=pgsql", *_connection(endpoint), *report, *_flags(options, purpose)]
    return [*words, *_script(options, purpose, folder)]


def _connection(endpoint: Endpoint) -> Iterator[str]:
    yield f"--pgsql-host={endpoint.host}"
    yield f"--pgsql-port={endpoint.port}"
    yield f"--pgsql-user={endpoint.user}"
    database = make_conninfo(
        dbname=endpoint.database,
        sslmode=endpoint.sslmode or None,
        sslrootcert=endpoint.sslrootcert or None,
        **dict(endpoint.parameters),
    )
    yield f"--pgsql-db={database}"


def _flags(options: SysbenchOptions, purpose: str) -> Iterator[str]:
    flags: Mapping[str, object] = options
    tpcc = is_tpcc(options)
    unknown_to_script = {"table_size", "skip_trx"} if tpcc or options.get("script") == BULK else {"scale"}
    unknown_to_script |= {"tables"} if options.get("script") == BULK else set()
    for field in fields_for(purpose):
        value = flags.get(field.name)
        if value is None or value is False or field.name in _NOT_PASSED | unknown_to_script:
            continue
        yield f"{field.flag}={'on' if value is True else value}"
    if purpose == LOAD and not options.get("duration"):
        yield "--time=0"
    if tpcc and purpose == PREPARE:
        yield "--use-fk=0"


def _script(options: SysbenchOptions, purpose: str, folder: Path | None) -> list[str]:
    if is_tpcc(options):
        script = str((folder or Path()) / binaries.TPCC_SCRIPT)
    else:
        script = f"./{REMAKE}" if purpose == PREPARE else str(options["script"])
    if purpose == LOAD:
        return [script, "run"]
    return [script, "cleanup" if options.get("action") == DROP and is_tpcc(options) else "prepare"]


def _environment(home: Path, application_name: str, endpoint: Endpoint, folder: Path | None) -> dict[str, str]:
    """Return the environment; LUA_PATH lets tpcc find the other files of its folder."""
    beside = {"LUA_PATH": f"{folder}/?.lua;;"} if folder else {}
    return minimal_environment(home) | libpq_environment(home, application_name, endpoint) | beside


def remake(options: SysbenchOptions) -> str:
    """Return a script that makes the tables anew or drops them, and prints the progress of its first thread.

    sysbench's own `prepare` fails where a table exists, and prints nothing while it fills one.
    """
    if options.get("action") == DROP:
        return _FRAME.format(make="local function make() end")
    return _FRAME.format(make=_MAKE_EMPTY if options.get("kind") == BULK else _MAKE_FULL)


_FRAME = """require("oltp_common")
{make}
local function remake()
   local drv = sysbench.sql.driver()
   local con = drv:connect()
   local threads = sysbench.opt.threads
   for i = sysbench.tid % threads + 1, sysbench.opt.tables, threads do
      con:query("DROP TABLE IF EXISTS sbtest" .. i)
      make(drv, con, i)
   end
   con:disconnect()
end
function event() end
sysbench.cmdline.commands = {{ prepare = {{ remake, sysbench.cmdline.PARALLEL_COMMAND }} }}
"""
_MAKE_EMPTY = """local function make(drv, con, number)
   con:query("CREATE TABLE sbtest" .. number ..
             " (id INTEGER NOT NULL, k INTEGER DEFAULT 0 NOT NULL, PRIMARY KEY (id))")
end"""
_MAKE_FULL = """local done = 0
local function counted(con)
   local size, share = sysbench.opt.table_size, math.ceil(sysbench.opt.tables / sysbench.opt.threads)
   local step = math.max(1, math.floor(share * size / 100))
   return {
      query = function(_, text) return con:query(text) end,
      bulk_insert_init = function(_, text) return con:bulk_insert_init(text) end,
      bulk_insert_done = function(_) return con:bulk_insert_done() end,
      bulk_insert_next = function(_, text)
         done = done + 1
         if sysbench.tid == 0 and done % step == 0 then
            print(string.format("filled %d of %d rows", done, share * size))
         end
         return con:bulk_insert_next(text)
      end,
   }
end
local function make(drv, con, number)
   create_table(drv, counted(con), number)
end"""
