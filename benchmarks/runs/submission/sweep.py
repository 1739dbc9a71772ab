"""A sweep over clients: the same load with each of several numbers of clients, in one group."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

from django.utils.translation import gettext as _

from benchmarks.engines import ENGINES, fields_of
from benchmarks.errors import InvalidOptions, InvalidSweep
from benchmarks.models import Purpose
from benchmarks.models.options import RunOptions
from benchmarks.runs.submission.split import COUNTED

LEAST_STEPS, MOST_STEPS = 2, 12
MOST_RUNS = 60  # as many as a comparison shows


def read(text: str) -> list[int]:
    """Return the numbers of clients in a text such as `1, 2, 4`; none for an empty one. Raises `InvalidSweep`."""
    words = text.replace(",", " ").split()
    if not all(word.isascii() and word.isdecimal() and len(word) < 10 for word in words):
        raise InvalidSweep([_("give whole numbers of clients with commas between them, such as 1, 2, 4, 8")])
    return [int(word) for word in words]


def counted_by(engine: str) -> str | None:
    """Return the option that is the number of clients of an engine; None where it has none."""
    names = {field.name for field in fields_of(engine)}
    return next((name for name in COUNTED if name in names), None)


def check(clients: Sequence[int], *, engine: str, purpose: str, runs_each: int) -> str:
    """Return the option that is swept; raise `InvalidSweep` where these steps can't be compared.

    `runs_each` is the number of runs of a step.
    """
    counted = counted_by(engine)
    if purpose != Purpose.LOAD or counted is None:
        raise InvalidSweep([_("only a load has clients to sweep over: leave the sweep out")])
    if not LEAST_STEPS <= len(clients) <= MOST_STEPS or len(set(clients)) != len(clients):
        text = _("give %(least)s to %(most)s different numbers of clients")
        raise InvalidSweep([text % {"least": LEAST_STEPS, "most": MOST_STEPS}])
    if (runs := len(clients) * runs_each) > MOST_RUNS:
        text = _(
            "%(steps)s steps with %(each)s runs each are %(runs)s runs, and a comparison shows at most %(most)s: "
            "use fewer steps or repeats"
        )
        numbers = {"steps": len(clients), "each": runs_each, "runs": runs, "most": MOST_RUNS}
        raise InvalidSweep([text % numbers])
    return counted


def options_of(engine: str, options: Mapping[str, object], counted: str, clients: Sequence[int]) -> list[RunOptions]:
    """Return the options of each step, with no more threads than the program allows for so many clients."""
    fitted = ENGINES[engine].fitted
    return [fitted(cast("RunOptions", {**options, counted: number})) for number in clients]


@contextmanager
def naming_the_sweep(counted: str) -> Iterator[None]:
    """Report an error of the swept option at the sweep, since that is where its value was given."""
    try:
        yield
    except InvalidOptions as error:
        if set(error.errors) != {counted}:
            raise
        raise InvalidSweep(error.errors[counted]) from None
