"""Sums SHOW POOLS, STATS, DATABASES, LISTS and limits over the processes of a PgBouncer that share its port."""

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter

from pools.poolers.console_sample import ProcessFigures

Row = Mapping[str, object]
# the columns that tell rows apart; counts and limits are one row of a process
KEYS: dict[str, tuple[str, ...]] = {
    "pools": ("database", "user"),
    "stats": ("database",),
    "databases": ("name",),
    "counts": (),
    "limits": (),
}
TEXTS = frozenset({"name", "database", "user", "host", "port", "force_user", "pool_mode", "load_balance_hosts"})
FLAGS = ("paused", "disabled")
# a mean of SHOW STATS → the rate by which each process weighs in it
MEANS = {"avg_xact_time": "avg_xact_count", "avg_query_time": "avg_query_count", "avg_wait_time": "avg_query_count"}


def summed(word: str, shown: Iterable[Iterable[Row]]) -> list[dict[str, object]]:
    """Return the rows of `SHOW word` of several processes as one process would show them."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for rows in shown:
        for row in rows:
            groups.setdefault(tuple(row.get(key) for key in KEYS[word]), []).append(row)
    return [_merged(rows) for rows in groups.values()]


def figures_of(name: str, pid: int | None, pools: Iterable[Row]) -> ProcessFigures:
    """Return the sums of clients and server connections over all pools of one process."""
    rows = list(pools)

    def total(column: str) -> int:
        return sum(_number(row.get(column)) for row in rows)

    return ProcessFigures(name, pid, total("cl_active"), total("cl_waiting"), total("sv_active"), total("sv_idle"))


def _merged(rows: list[Row]) -> dict[str, object]:
    if len(rows) == 1:
        return dict(rows[0])
    longest = max(rows, key=lambda row: (_number(row.get("maxwait")), _number(row.get("maxwait_us"))))
    return {column: _value(column, rows, longest) for column in rows[0]}


def _value(column: str, rows: list[Row], longest: Row) -> object:
    values = [row.get(column) for row in rows]
    if column.startswith("maxwait"):
        return longest[column]
    if column in FLAGS:
        return max(map(_number, values))
    if column in TEXTS or not all(_is_number(value) for value in values):
        return values[0]
    if column in MEANS:
        return _weighted(rows, itemgetter(column), MEANS[column])
    return sum(map(_number, values))


def _weighted(rows: list[Row], value: Callable[[Row], object], by: str) -> int:
    weights = [_number(row.get(by)) for row in rows]
    total = sum(_number(value(row)) * weight for row, weight in zip(rows, weights, strict=True))
    return total // sum(weights) if sum(weights) else 0


def _is_number(value: object) -> bool:
    return isinstance(value, int) or str(value).isdigit()


def _number(value: object) -> int:
    return int(str(value or 0)) if _is_number(value or 0) else 0
