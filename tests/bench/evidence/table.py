"""Lines of a table: a simulated share beside its goal."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

WIDTH = 72
ERRORS_ALLOWED = 2  # standard errors of the simulation by which a share may miss its least value


@dataclass(frozen=True)
class Line:
    """A simulated share of `trials` and the range it should lie in.

    `is_reference` marks what the panel does not do (another method, another order): it shows why.
    """

    name: str
    found: float
    trials: int
    at_least: float
    at_most: float = 1.0
    is_reference: bool = False

    @property
    def is_low(self) -> bool:
        """Whether the share is too small: by more than the simulation's error where it has only a least value."""
        return self.found + (0 if self.at_most < 1 else ERRORS_ALLOWED * self.error) < self.at_least

    @property
    def holds(self) -> bool:
        return not self.is_low and self.found <= self.at_most

    @property
    def outcome(self) -> str:
        words = "holds" if self.holds else "too low" if self.is_low else "wider than needed"
        return f"({words}; for comparison)" if self.is_reference else words if self.holds else f"! {words}"

    @property
    def goal(self) -> str:
        if self.at_most < 1:
            return f"{self.at_least:.0%} to {self.at_most:.0%}"
        return f"≥ {self.at_least:.0%}"

    @property
    def error(self) -> float:
        """The standard error of the simulated share."""
        return sqrt(self.found * (1 - self.found) / self.trials)

    def __str__(self) -> str:
        return f"{self.name:<{WIDTH}} {self.found:7.1%} ±{self.error:4.1%}  {self.goal:<11} {self.outcome}"


def share(count: int, trials: int) -> float:
    return count / trials


def show(title: str, lines: Sequence[Line]) -> None:
    """Print a table under its title."""
    judged = [line for line in lines if not line.is_reference]
    held = f"{sum(line.holds for line in judged)} of {len(judged)} hold" if judged else "for comparison"
    print(f"\n{title}: {held} ({lines[0].trials} trials each)")
    for line in lines:
        print(f"  {line}", flush=True)
