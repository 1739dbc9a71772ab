"""The keys of an HTTP load's options; `options.FIELDS` has their limits and defaults."""

from benchmarks.models.options import RunOptions


class HttpOptions(RunOptions, total=False):
    """The validated options of an HTTP load, or of the products service's table."""

    connection: str | None
    url: str | None
    pool_idle: int | None
    pool_lifetime: float | None
    pool_idle_time: float | None
    new_connections: bool
    timeout: float
    action: str
    rows: int
