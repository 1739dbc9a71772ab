"""pgbench's four tables: what its built-in scripts need, and what `-i` makes; pure."""

from typing import Any

from benchmarks.engines.contract import Tables
from benchmarks.engines.pgbench.catalogue import PREPARE
from benchmarks.engines.pgbench.initialize import ACCOUNTS_PER_SCALE, estimated_bytes

NAMES = ("pgbench_accounts", "pgbench_branches", "pgbench_history", "pgbench_tellers")
WRITING_SCRIPTS = frozenset({"tpcb-like", "simple-update"})


def tables_of(options: dict[str, Any], *, purpose: str) -> Tables:
    """The four tables; a load needs them at any scale."""
    scale, script = int(options.get("scale") or 1), str(options.get("builtin") or "")
    return Tables(
        engine="pgbench",
        names=NAMES,
        called="the pgbench tables",
        marked="pgbench_accounts",
        counted="pgbench_branches",
        size_query="SELECT count(*) FROM pgbench_branches",
        size=scale if purpose == PREPARE else 1,
        rows_each=ACCOUNTS_PER_SCALE,
        takes_bytes=estimated_bytes(scale, options.get("fillfactor")),
        writes=script if script in WRITING_SCRIPTS else "",
        sparing="choose select-only",
    )
