"""Splits a load: a run's clients, rate, events and pool are totals over its parts, other options apply to each; pure.

Other distributed load programs do the same, so that the same options make the same load on one generator or many.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from django.utils.translation import gettext as _

from benchmarks import engines
from benchmarks.errors import InvalidOptions
from benchmarks.models import Purpose, Run
from benchmarks.models.options import RunOptions
from benchmarks.runs.submission import options as load_options

# The programs' names for the number of clients. It is whole: where it doesn't divide, the first generators get one
# more.
COUNTED = ("clients", "concurrency", "threads")
# Totals over all clients; pgbench's `transactions` is per client.
TOTALS = ("events", "pool_size", "pool_idle")
PACED = ("rate",)  # follow the clients, so that each client keeps its pace


def shares(engine: str, options: Mapping[str, object], count: int) -> list[RunOptions]:
    """Return the checked options of each of `count` parts; raise `InvalidOptions` where a share can't be run."""
    if errors := engines.engine(engine).unshardable(options):
        raise InvalidOptions(errors)
    numbers = {name: value for name, value in options.items() if isinstance(value, int | float)}
    counted = next((name for name in COUNTED if numbers.get(name)), None)
    if counted is None:
        counted_names = ", ".join(COUNTED)
        text = _("%(engine)s has none of %(options)s to share out: name one generator")
        raise InvalidOptions({"generators": [text % {"engine": engine, "options": counted_names}]})
    _check_enough(numbers, (counted, *TOTALS), count)
    sizes = even(int(numbers[counted]), count)
    options_by_part = [{**options, **_share(numbers, counted, sizes, at)} for at in range(count)]
    _check_paces(numbers, options_by_part)
    _check(engine, options_by_part[-1], counted)
    return [cast("RunOptions", share) for share in options_by_part]


def _check_enough(numbers: Mapping[str, float], names: Sequence[str], count: int) -> None:
    for name in names:
        if (total := numbers.get(name)) and total < count:
            text = _("%(total)s can't be shared by %(count)s generators: use at least %(count)s")
            raise InvalidOptions({name: [text % {"total": total, "count": count}]})


def _check_paces(numbers: Mapping[str, float], options_by_part: Sequence[Mapping[str, object]]) -> None:
    """Refuse a rate that leaves a part with 0, which would mean no limit at all."""
    for name in PACED:
        if numbers.get(name) and not all(share[name] for share in options_by_part):
            text = _(
                "a %(name)s of %(value)s leaves one of %(count)s generators without any: raise it, or name fewer "
                "generators"
            )
            raise InvalidOptions(
                {name: [text % {"name": name, "value": f"{numbers[name]:g}", "count": len(options_by_part)}]}
            )


def even(total: int, count: int) -> list[int]:
    """Split a number into `count` parts that differ by 1 at most, the larger ones first."""
    each, remainder = divmod(total, count)
    return [each + (at < remainder) for at in range(count)]


def _share(numbers: Mapping[str, float], counted: str, sizes: list[int], at: int) -> dict[str, float]:
    """Return the options of a part that differ from those of the whole."""
    share: dict[str, float] = {counted: sizes[at]}
    share |= {name: even(int(numbers[name]), len(sizes))[at] for name in TOTALS if numbers.get(name)}
    share |= {name: _pace(numbers[name], sizes, at) for name in PACED if numbers.get(name)}
    if "random_seed" in numbers:  # the same seed would have all parts touch the same rows at one time
        share["random_seed"] = numbers["random_seed"] + at
    return share


def _pace(whole: float, sizes: list[int], at: int) -> float:
    """Return a part's share of a rate, by its clients; shares of a whole number are whole and add up to it."""
    total, before, upto = sum(sizes), sum(sizes[:at]), sum(sizes[: at + 1])
    if isinstance(whole, int):
        return whole * upto // total - whole * before // total
    return whole * sizes[at] / total


def _check(engine: str, smallest: Mapping[str, object], counted: str) -> None:
    try:
        load_options.validate(engine, smallest, purpose=Purpose.LOAD)
    except InvalidOptions as error:
        text = _("%(fault)s (each generator has as few as %(least)s of the %(counted)s)")
        words = {"least": smallest[counted], "counted": counted}
        errors = {name: [text % (words | {"fault": one}) for one in found] for name, found in error.errors.items()}
        raise InvalidOptions(errors) from None


SAME = (
    *("cluster", "pool", "external", "is_external", "pooled_by", "database", "pooled", "role", "target_label"),
    "team_id",
    *("engine", "purpose", "author", "alongside"),
)


def make_parts(run: Run) -> list[Run]:
    """Queue one part for each generator, in order; raise `InvalidOptions` where the load can't be split."""
    names = run.wanted_generators
    parts = shares(run.engine, run.options, len(names))
    same = {name: getattr(run, name) for name in SAME}
    return [
        Run.objects.enqueue(**same, parent=run, options=share, generator=name, wanted_generators=[name])
        for name, share in zip(names, parts, strict=True)
    ]
