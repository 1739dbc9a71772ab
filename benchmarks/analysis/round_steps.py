"""The distance between the ticks of an axis; pure."""

from math import floor, log10

FACTORS = (1, 2, 5, 10)


def round_step(reach: float, most: int) -> float:
    """Return the smallest step of 1, 2 or 5 times a power of ten of which fewer than `most` fit into a reach."""
    unit: float = 10 ** floor(log10(reach / most))
    return next(unit * factor for factor in FACTORS if unit * factor * most > reach)
