"""Sharing a load out: a run's clients, rate, events and pool are those of the whole, all else for each; pure.

So it is with other distributed load programs, and so the same options make the same load from one generator or many.
"""

from collections.abc import Sequence
from typing import Any

from benchmarks import engines
from benchmarks.errors import InvalidOptions
from benchmarks.models import Purpose, Run
from benchmarks.runs.submission import options as load_options

# What a program calls its clients: whole numbers; where they don't divide, the first generators get one more.
COUNTED = ("clients", "concurrency", "threads")
# What is done or held by all together; pgbench's transactions are each client's.
TOTALS = ("events", "pool_size")
PACED = ("rate",)  # follow the clients, so that each client keeps its pace


def shares(engine: str, options: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The checked options of each of `count` parts; raises `InvalidOptions` where a share can't be run."""
    if errors := engines.engine(engine).unshardable(options):
        raise InvalidOptions(errors)
    counted = next((name for name in COUNTED if options.get(name)), None)
    if counted is None:
        whole = ", ".join(COUNTED)
        raise InvalidOptions({"generators": [f"{engine} has no {whole} to share out: name one generator"]})
    _check_enough(options, (counted, *TOTALS), count)
    sizes = even(int(options[counted]), count)
    found = [_share(options, counted, sizes, at) for at in range(count)]
    _check_paces(options, found)
    _check(engine, found[-1], counted)
    return found


def _check_enough(options: dict[str, Any], names: Sequence[str], count: int) -> None:
    for name in names:
        if (total := options.get(name)) and total < count:
            raise InvalidOptions({name: [f"{total} can't be shared by {count} generators: use at least {count}"]})


def _check_paces(options: dict[str, Any], found: list[dict[str, Any]]) -> None:
    """A rate of 0 would be none at all, so that one generator would load without end."""
    for name in PACED:
        if options.get(name) and not all(share[name] for share in found):
            why = f"a {name} of {options[name]:g} leaves one of {len(found)} generators without any"
            raise InvalidOptions({name: [f"{why}: raise it, or name fewer generators"]})


def even(total: int, count: int) -> list[int]:
    """A number in `count` parts that differ by 1 at the most, the larger ones first."""
    each, rest = divmod(total, count)
    return [each + (at < rest) for at in range(count)]


def _share(options: dict[str, Any], counted: str, sizes: list[int], at: int) -> dict[str, Any]:
    share = options | {counted: sizes[at]}
    share |= {name: even(int(options[name]), len(sizes))[at] for name in TOTALS if options.get(name)}
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


SAME = (
    *("cluster", "pool", "external", "is_external", "pooled_by", "database", "pooled", "role", "target_label"),
    *("engine", "purpose", "author", "alongside"),
)


def make_parts(run: Run) -> list[Run]:
    """One queued part for each generator, in their order; raises `InvalidOptions` where the load can't be shared."""
    names = run.wanted_generators
    parts = shares(run.engine, run.options, len(names))
    same = {name: getattr(run, name) for name in SAME}
    return [
        Run.objects.enqueue(**same, parent=run, options=share, generator=name, wanted_generators=[name])
        for name, share in zip(names, parts, strict=True)
    ]
