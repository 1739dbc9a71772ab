"""The keys of pgbench's options; `option_catalog` has their flags, limits and defaults."""

from benchmarks.models.options import RunOptions


class PgbenchOptions(RunOptions, total=False):
    """The validated options of a pgbench load or dataset."""

    latency_limit: float | None
    max_tries: int | None
    failures_detailed: bool
    verbose_errors: bool
    exit_on_abort: bool
    continue_on_error: bool
    initialize_steps: str
    fillfactor: int | None
    partitions: int | None
    partition_method: str | None
    foreign_keys: bool
    unlogged_tables: bool
    tablespace: str | None
    index_tablespace: str | None
    log_prefix: str  # of one stage, never given or stored
