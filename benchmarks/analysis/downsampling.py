"""Thinning of long series for charts by largest-triangle-three-buckets (S. Steinarsson, 2013); pure."""

from collections.abc import Callable, Sequence
from typing import Any

Row = Sequence[Any]
Value = Callable[[Row], float | None]


def thinned(rows: Sequence[Row], at_most: int, *, t: Value, value: Value) -> Sequence[Row]:
    """Return at most so many of the rows, in order, keeping the shape of the curve.

    Keeps the first row, the last, and of each bucket between them the one that spans the largest triangle with the row
    kept before and the mean of the next bucket.
    """
    if len(rows) <= at_most or at_most < 3:
        return rows
    points = [(t(row) or 0.0, value(row) or 0.0) for row in rows]
    edges = _edges(len(rows), at_most - 2)
    kept = [0]
    for bucket in range(at_most - 2):
        start, end = edges[bucket], edges[bucket + 1]
        beyond = _mean(points[end : edges[bucket + 2]] or points[-1:])
        kept.append(_largest(points, start, end, points[kept[-1]], beyond))
    return [rows[at] for at in (*kept, len(rows) - 1)]


def _edges(count: int, buckets: int) -> list[int]:
    """Return the index at which each bucket begins, and the end of the rows twice."""
    width = (count - 2) / buckets
    return [1 + int(bucket * width) for bucket in range(buckets)] + [count - 1, count]


def _mean(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)


def _largest(
    points: Sequence[tuple[float, float]], start: int, end: int, left: tuple[float, float], right: tuple[float, float]
) -> int:
    (x0, y0), (x2, y2) = left, right

    def area(at: int) -> float:
        x, y = points[at]
        return abs((x0 - x2) * (y - y0) - (x0 - x) * (y2 - y0))

    return max(range(start, end), key=area)
