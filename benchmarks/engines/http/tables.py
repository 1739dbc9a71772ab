"""The table of the products service; pure."""

from django.utils.translation import gettext as _

from benchmarks.engines.base import Tables
from benchmarks.engines.http.options import DROP, PREPARE
from benchmarks.engines.http.typed_options import HttpOptions

ROWS_READ = 1_000  # rows read by each request
_ROW_BYTES = 108  # measured on PostgreSQL 15 with 20,000 rows, the key included


def tables_of(options: HttpOptions, *, purpose: str) -> Tables | None:
    """Return table `products`, which is only read; None where requests go to an address of the user's own."""
    if purpose != PREPARE and options.get("url"):
        return None
    rows = int(options.get("rows") or ROWS_READ)
    return Tables(
        engine="http",
        names=("products",),
        kind="products",
        marked="products",
        counted="products",
        size_query="SELECT max(id) FROM products",
        size=rows if purpose == PREPARE else ROWS_READ,
        sized=_("%(size)s products"),
        takes_bytes=rows * _ROW_BYTES,
        dropped=options.get("action") == DROP,
    )
