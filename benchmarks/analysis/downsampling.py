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
    xs, ys = _column(rows, t), _column(rows, value)
    edges = _edges(len(rows), at_most - 2)
    kept = [0]
    for bucket in range(at_most - 2):
        start, end, beyond = edges[bucket : bucket + 3]
        right = _mean(xs, end, beyond), _mean(ys, end, beyond)
        kept.append(_largest(xs, ys, start, end, kept[-1], right))
    return [rows[at] for at in (*kept, len(rows) - 1)]


def _column(rows: Sequence[Row], of: Value) -> list[float]:
    """Return one figure of each row in a list of its own: sums and comprehensions go over that without a call a row."""
    return [figure or 0.0 for figure in map(of, rows)]


def _edges(count: int, buckets: int) -> list[int]:
    """Return the index at which each bucket begins, and the end of the rows twice."""
    width = (count - 2) / buckets
    return [1 + int(bucket * width) for bucket in range(buckets)] + [count - 1, count]


def _mean(figures: Sequence[float], start: int, end: int) -> float:
    """Return the mean of a bucket; of an empty one, the last figure."""
    return sum(figures[start:end]) / (end - start) if end > start else figures[-1]


def _largest(
    xs: Sequence[float], ys: Sequence[float], start: int, end: int, left: int, right: tuple[float, float]
) -> int:
    """Return the row of a bucket that spans the largest triangle with the row `left` and the point `right`."""
    x0, y0, (x2, y2) = xs[left], ys[left], right
    width, height = x0 - x2, y2 - y0
    areas = [abs(width * (y - y0) - (x0 - x) * height) for x, y in zip(xs[start:end], ys[start:end], strict=True)]
    return start + areas.index(max(areas))
