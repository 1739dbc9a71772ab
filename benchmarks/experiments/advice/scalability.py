"""The Universal Scalability Law fitted to throughputs by concurrency; pure.

X(n) = rate * n / (1 + contention * (n - 1) + coherency * n * (n - 1)) (Neil Gunther, "Guerrilla Capacity Planning").
Linear least squares on n / X, each size weighted by its number of runs; negative coefficients are held at zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import fmean

Matrix = list[list[float]]


@dataclass(frozen=True)
class ScalabilityLaw:
    """A fitted law: `rate` of one connection per second, `contention` and `coherency` without unit."""

    rate: float
    contention: float
    coherency: float

    def throughput(self, size: float) -> float:
        """Return the throughput that the law predicts for so many connections."""
        return self.rate * size / (1 + self.contention * (size - 1) + self.coherency * size * (size - 1))

    @property
    def peak(self) -> float:
        """The load at which throughput is highest: infinite without coherency, where more never hurts."""
        if self.coherency <= 0:
            return inf
        return max(1.0, sqrt(max(0.0, 1 - self.contention) / self.coherency))


def fit(measured: Mapping[int, Sequence[float]]) -> ScalabilityLaw | None:
    """Fit the law to throughputs by size; None with fewer than three sizes that have a figure."""
    points = [(size, fmean(values), len(values)) for size, values in sorted(measured.items()) if values]
    if len(points) < 3 or any(rate <= 0 for _, rate, _ in points):
        return None
    for columns in ((0, 1, 2), (0, 1), (0, 2), (0,)):  # drop what would be negative
        solved = _solved(points, columns)
        if solved and all(value >= 0 for value in solved) and solved[0] > 0:
            base, linear, square = solved
            return ScalabilityLaw(1 / base, linear / base, square / base)
    return None


def _solved(points: Sequence[tuple[int, float, int]], columns: Sequence[int]) -> list[float] | None:
    """Solve the weighted normal equations of n / X = a + b (n - 1) + c n (n - 1) for the columns that take part."""
    rows: list[tuple[list[float], float, float]] = []
    for size, rate, count in points:
        terms = [1.0, size - 1.0, size * (size - 1.0)]
        # the error of n / X grows with n / X itself: relative errors are alike
        rows.append(([terms[column] for column in columns], size / rate, count * (rate / size) ** 2))
    order = range(len(columns))
    matrix = [[sum(w * row[i] * row[j] for row, _, w in rows) for j in order] for i in order]
    right = [sum(w * row[i] * y for row, y, w in rows) for i in order]
    solution = _gauss(matrix, right)
    if solution is None:
        return None
    return [solution[columns.index(column)] if column in columns else 0.0 for column in range(3)]


def _gauss(matrix: Matrix, right: list[float]) -> list[float] | None:
    """Solve a small system by elimination with pivots; None where it has no single solution."""
    size = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for at in range(size):
        pivot = max(range(at, size), key=lambda one: abs(rows[one][at]))
        if abs(rows[pivot][at]) < 1e-12:
            return None
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for other in range(size):
            if other != at:
                factor = rows[other][at] / rows[at][at]
                rows[other] = [one - factor * two for one, two in zip(rows[other], rows[at], strict=True)]
    return [rows[at][size] / rows[at][at] for at in range(size)]
