"""The keys of sysbench's options; `options.FIELDS` has their flags, limits and defaults."""

from benchmarks.models.options import RunOptions


class SysbenchOptions(RunOptions, total=False):
    """The validated options of a sysbench load or dataset."""

    tables: int | None
    table_size: int | None
    rand_type: str | None
    db_ps_mode: str | None
    skip_trx: bool
    percentile: str | None
    action: str
    kind: str | None
