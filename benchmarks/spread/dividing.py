"""Sharing a load out: a run's clients and rate are those of the whole, all else holds for each generator; pure.

So it is with other distributed load programs, and so the same options make the same load from one generator or many.
"""

from typing import Any

from benchmarks.errors import InvalidOptions
from benchmarks.models import Purpose
from benchmarks.submission import load_options

# What a program calls its clients: whole numbers; where they don't divide, the first generators get one more.
COUNTED = ("clients", "concurrency", "threads")
PACED = ("rate",)  # follow the clients, so that each client keeps its pace


def shares(engine: str, options: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The checked options of each of `count` parts; raises `InvalidOptions` where a share can't be run."""
    counted = next((name for name in COUNTED if options.get(name)), None)
    if counted is None:
        whole = ", ".join(COUNTED)
        raise InvalidOptions({"generators": [f"{engine} has no {whole} to share out: name one generator"]})
    total = int(options[counted])
    if total < count:
        raise InvalidOptions({counted: [f"{total} can't be shared by {count} generators: use at least {count}"]})
    sizes = even(total, count)
    found = [_share(options, counted, sizes, at) for at in range(count)]
    _check(engine, found[-1], counted)
    return found


def even(total: int, count: int) -> list[int]:
    """A number in `count` parts that differ by 1 at the most, the larger ones first."""
    each, rest = divmod(total, count)
    return [each + (at < rest) for at in range(count)]


def _share(options: dict[str, Any], counted: str, sizes: list[int], at: int) -> dict[str, Any]:
    share = options | {counted: sizes[at]}
    share |= {name: _pace(options[name], sizes, at) for name in PACED if options.get(name)}
    if options.get("random_seed") is not None:  # the same seed would have all parts touch the same rows at one time
        share["random_seed"] = options["random_seed"] + at
    return share


def _pace(whole: int | float, sizes: list[int], at: int) -> int | float:
    """A share of a rate by the clients; those of a whole number are whole and add up to it."""
    total, before, upto = sum(sizes), sum(sizes[:at]), sum(sizes[: at + 1])
    if isinstance(whole, int):
        return whole * upto // total - whole * before // total
    return whole * sizes[at] / total


def _check(engine: str, smallest: dict[str, Any], counted: str) -> None:
    try:
        load_options.validate(engine, smallest, purpose=Purpose.LOAD)
    except InvalidOptions as error:
        of_it = f" (each generator has as few as {smallest[counted]} of the {counted})"
        errors = {name: [text + of_it for text in found] for name, found in error.errors.items()}
        raise InvalidOptions(errors) from None
