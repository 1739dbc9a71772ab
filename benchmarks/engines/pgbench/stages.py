"""Stages of a load: each is a pgbench of its own, with clients, a duration and maybe a rate of its own; pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from django.utils.translation import gettext as _

from benchmarks.engines import option_parsing
from benchmarks.engines.base import Field
from benchmarks.engines.pgbench import option_catalog
from benchmarks.engines.pgbench.option_catalog import LOAD
from benchmarks.engines.pgbench.typed_options import PgbenchOptions
from benchmarks.engines.stage_lines import SECONDS
from benchmarks.models.options import Stage

MOST = 20
_LINE = re.compile(
    r"(?P<duration>[0-9]{1,6})(?P<unit>[smh]?)\s+(?P<clients>[0-9]{1,9})(?:\s+(?P<rate>[0-9.]{1,20})/s)?"
)
_LIMITS = {field.name: field for field in option_catalog.FIELDS if field.purpose == LOAD}
FIELDS = {"duration_s": _LIMITS["duration"], "clients": _LIMITS["clients"], "rate": _LIMITS["rate"]}
REQUIRED = ("duration_s", "clients")
EXCLUDED = ("rate", "transactions", "report_per_command")


def read_stages(_field: Field, value: object) -> list[Stage] | None:
    """Return stages from a list of objects, or from text with one on each line; raise ValueError naming the wrong one.

    None for a list or a text without any.
    """
    if isinstance(value, str):
        found = [_of_line(number, line) for number, line in enumerate(value.splitlines(), 1) if line.strip()]
    elif isinstance(value, list):
        found = [_of_object(number, one) for number, one in enumerate(value, 1)]
    else:
        raise ValueError(_('give a list of stages: [{"duration_s": 30, "clients": 10}]'))
    _check_number(found)
    return found or None


def _check_number(stages: Sequence[Stage]) -> None:
    if len(stages) > MOST:
        text = _("%(count)s stages are too many: use at most %(most)s")
        raise ValueError(text % {"count": len(stages), "most": MOST})
    total, most = duration_of(stages), _LIMITS["duration"].maximum
    if most is not None and total > most:
        text = _("the stages last %(total)s s together: use at most %(most)s s")
        raise ValueError(text % {"total": f"{total:,}", "most": f"{most:,}"})


def _of_line(number: int, line: str) -> Stage:
    if not (found := _LINE.fullmatch(line.strip())):
        text = _(
            "line %(number)s is %(line)s: write a duration, a number of clients and, if there is one, a rate, such as "
            "30s 10 or 2m 50 500/s"
        )
        raise ValueError(text % {"number": number, "line": option_parsing.quoted(line.strip())})
    typed = {"duration_s": int(found["duration"]) * SECONDS[found["unit"] or "s"], "clients": int(found["clients"])}
    try:
        return _checked(typed | ({"rate": found["rate"]} if found["rate"] else {}))
    except ValueError as error:
        raise ValueError(_("line %(number)s: %(error)s") % {"number": number, "error": error}) from None


def _of_object(number: int, value: object) -> Stage:
    try:
        if not isinstance(value, dict):
            text = _('%(value)s is not a stage: use {"duration_s": 30, "clients": 10}, with a rate if it has one')
            raise ValueError(text % {"value": option_parsing.quoted(value)})
        return _checked(value)
    except ValueError as error:
        raise ValueError(_("stage %(number)s: %(error)s") % {"number": number, "error": error}) from None


def _checked(typed: Mapping[str, object]) -> Stage:
    """Return a stage with the limits of the options that it takes the place of; raise ValueError."""
    if unknown := [name for name in typed if name not in FIELDS]:
        text = _("%(name)s is not a part of a stage: use %(names)s")
        raise ValueError(text % {"name": option_parsing.quoted(unknown[0]), "names": ", ".join(FIELDS)})
    if missing := [name for name in REQUIRED if not option_parsing.is_given(typed.get(name))]:
        raise ValueError(_("%(name)s is missing: each stage needs one") % {"name": missing[0]})
    given = {name: value for name, value in typed.items() if option_parsing.is_given(value)}
    checked: dict[str, object] = {}
    for name, value in given.items():
        try:
            checked[name] = option_parsing.READERS[FIELDS[name].kind](FIELDS[name], value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return cast("Stage", checked)


def most_clients(stages: Sequence[Stage]) -> int:
    """Return the most clients of any stage."""
    return max(stage["clients"] for stage in stages)


def duration_of(stages: Sequence[Stage]) -> int:
    """Return the seconds of all stages together."""
    return sum(stage["duration_s"] for stage in stages)


def contradictions(given: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield what was given beside the stages that each of them has, or that no load of several processes can have."""
    stages = cast("list[Stage] | None", given.get("stages"))
    if not stages:
        return
    for name, value in (("clients", most_clients(stages)), ("duration", duration_of(stages))):
        if name in given and given[name] != value:
            text = _("%(value)s is not the %(expected)s of the stages: leave it out, or leave out the stages")
            yield name, text % {"value": f"{given[name]:,}", "expected": f"{value:,}"}
    for name in EXCLUDED:
        if given.get(name):
            yield name, _why_excluded(name)


def _why_excluded(name: str) -> str:
    if name == "rate":
        return _("stages have rates of their own: leave it out, and give the rate of each stage, such as 30s 10 500/s")
    if name == "transactions":
        return _("each stage ends by its duration: leave the number of transactions out, or leave out the stages")
    return _("the latency of each statement is not kept by stage: leave it out, or leave out the stages")


def stages(options: PgbenchOptions) -> list[PgbenchOptions]:
    """Return the options of each stage's own pgbench; of a constant load, its options alone."""
    if not (asked := options.get("stages")):
        return [options]
    whole = cast("PgbenchOptions", {name: value for name, value in options.items() if name != "stages"})
    return [_of_stage(whole, stage, number) for number, stage in enumerate(asked, 1)]


def _of_stage(whole: PgbenchOptions, stage: Stage, number: int) -> PgbenchOptions:
    """Return a stage's options; its log has a name of its own, since process ids come again in a sandbox."""
    return {
        **whole,
        "clients": stage["clients"],
        "threads": min(whole.get("threads") or 1, stage["clients"]),
        "duration": stage["duration_s"],
        "rate": stage.get("rate"),
        "log_prefix": f"pgbench_log_{number}",
    }


def with_rate(options: PgbenchOptions, number: int, lasted_s: int, rate: float | None) -> PgbenchOptions:
    """Return the options of a load whose stage `number` (from 1) ended after so long, to go on at another rate.

    The rest of that stage is a stage of its own; a constant load becomes one of two stages.
    """
    found = [*options.get("stages", [])] or [_constant(options)]
    ended = found[number - 1]
    rest: Stage = {"duration_s": max(1, ended["duration_s"] - lasted_s), "clients": ended["clients"]}
    if rate:
        rest["rate"] = rate
    found[number - 1 : number] = [{**ended, "duration_s": lasted_s}, rest]
    return {**options, "rate": None, "stages": found, "duration": duration_of(found)}


def _constant(options: PgbenchOptions) -> Stage:
    stage: Stage = {"duration_s": options.get("duration") or 0, "clients": options.get("clients") or 1}
    if rate := options.get("rate"):
        stage["rate"] = rate
    return stage


def unshardable(options: PgbenchOptions) -> dict[str, list[str]]:
    """Return why stages are not shared: the generators' processes would drift apart from stage to stage."""
    if not options.get("stages"):
        return {}
    text = _("a load with stages runs on one generator: name one, or leave out the stages")
    return {"stages": [text]}
