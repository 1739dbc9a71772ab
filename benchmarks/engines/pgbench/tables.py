"""pgbench's four tables: what its built-in scripts need and `-i` makes; pure."""

from benchmarks.engines.base import Tables
from benchmarks.engines.pgbench import scripts
from benchmarks.engines.pgbench.initialize import ACCOUNTS_PER_SCALE, estimated_bytes
from benchmarks.engines.pgbench.option_catalog import DROP_STEP, PREPARE
from benchmarks.engines.pgbench.typed_options import PgbenchOptions

NAMES = ("pgbench_accounts", "pgbench_branches", "pgbench_history", "pgbench_tellers")


def tables_of(options: PgbenchOptions, *, purpose: str) -> Tables | None:
    """Return the four tables; a load needs them at any scale, and none where only users' scripts run."""
    builtins, scale = scripts.builtin_names(options), int(options.get("scale") or 1)
    if options.get("scripts") and not builtins:
        return None
    return Tables(
        engine="pgbench",
        names=NAMES,
        kind="pgbench",
        marked="pgbench_accounts",
        counted="pgbench_branches",
        size_query="SELECT count(*) FROM pgbench_branches",
        size=scale if purpose == PREPARE else 1,
        rows_each=ACCOUNTS_PER_SCALE,
        takes_bytes=estimated_bytes(scale, options.get("fillfactor")),
        tablespaces=tuple(filter(None, (options.get("tablespace"), options.get("index_tablespace")))),
        writes=next((name for name in builtins if name in scripts.WRITING_BUILTINS), ""),
        sparing="select-only",
        dropped=options.get("initialize_steps") == DROP_STEP,
        # each transaction updates one of as many branches as the scale (the manual's good practices)
        contended_below=int(options.get("clients") or 0) if scripts.CONTENDING_BUILTIN in builtins else 0,
    )
