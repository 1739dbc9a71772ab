"""The tables of sysbench's scripts; pure."""

from django.utils.translation import gettext as _

from benchmarks.engines.base import Tables
from benchmarks.engines.sysbench.options import BULK, DROP, PREPARE, READING, is_tpcc
from benchmarks.engines.sysbench.typed_options import SysbenchOptions

# Measured with 1.0.20 on PostgreSQL 15: 25,477,120 bytes for 100,000 rows with both indexes.
_ROW_BYTES = 255
_WAREHOUSE_BYTES, _ITEM_BYTES = 110_000_000, 12_000_000
_HAS_C = "SELECT FROM pg_attribute WHERE attrelid = 'sbtest1'::regclass AND attname = 'c' AND NOT attisdropped"
_LAST_OF_BULK = "SELECT max(id) FROM sbtest1"  # these tables have no column c
_LAST_ROW = f"SELECT CASE WHEN EXISTS ({_HAS_C}) THEN ({_LAST_OF_BULK}) END"
_TPCC = ("customer", "district", "history", "item", "new_orders", "order_line", "orders", "stock", "warehouse")
_TPCC_ROWS = 500_000  # approximate rows of one warehouse


def tables_of(options: SysbenchOptions, *, purpose: str) -> Tables:
    """Return sbtest1 to sbtestN as the options say, tpcc's nine kinds, or bulk_insert's, one for each thread."""
    if is_tpcc(options):
        return _tpcc(options, purpose)
    bulk = BULK in (options.get("script"), options.get("kind"))
    by_thread = bulk and purpose != PREPARE
    count = int((options.get("threads") if by_thread else options.get("tables")) or 1)
    size, script = int(options.get("table_size") or 1), str(options.get("script") or "oltp_read_only")
    return Tables(
        engine="sysbench",
        names=tuple(f"sbtest{number}" for number in range(1, count + 1)),
        kind="sysbench",
        marked="sbtest1",
        counted="sbtest1",
        size_query=_LAST_OF_BULK if bulk else _LAST_ROW,
        size=0 if bulk else size,
        rows_each=count,
        sized=_("%(sets)s empty tables") if bulk else _("%(sets)s × %(size)s rows"),
        sets=count,
        takes_bytes=0 if bulk else count * size * _ROW_BYTES,
        writes="" if purpose == PREPARE or script in READING else script,
        sparing="oltp_read_only",
        needed_empty=bulk and purpose != PREPARE,
        dropped=options.get("action") == DROP,
    )


def _tpcc(options: SysbenchOptions, purpose: str) -> Tables:
    count, scale = int(options.get("tables") or 1), int(options.get("scale") or 1)
    return Tables(
        engine="sysbench",
        names=tuple(f"{kind}{number}" for number in range(1, count + 1) for kind in _TPCC),
        kind="tpcc",
        marked="warehouse1",
        counted="warehouse1",
        size_query="SELECT count(*) FROM warehouse1",
        size=scale,
        rows_each=count * _TPCC_ROWS,
        sized=_("%(sets)s × %(size)s warehouses"),
        sets=count,
        takes_bytes=count * (scale * _WAREHOUSE_BYTES + _ITEM_BYTES),
        writes="" if purpose == PREPARE else "tpcc",
        sparing="oltp_read_only",
        dropped=options.get("action") == DROP,
        alone=True,  # it adds to tables that are there, and waits until the database holds as many as it makes
    )
