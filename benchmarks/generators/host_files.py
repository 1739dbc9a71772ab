"""Files of a generator's host that runs name (plans of JMeter, scripts of tpcc): listed and checked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import engines
from benchmarks.engines import ENGINES
from benchmarks.errors import InvalidOptions
from benchmarks.generators import registry, selection
from benchmarks.generators.registry import Known

Reasons = dict[str, str]  # file → why runs can't use it (empty: they can)
REMEDIES = {
    "jmeter": "put it there into the folder POOLDECK_JMETER_PLANS",
    "sysbench": "name the folder of sysbench-tpcc there in POOLDECK_SYSBENCH_SCRIPTS",
}


@dataclass(frozen=True)
class Needed:
    """A file that a run of this engine needs, by this option."""

    engine: str
    option: str
    name: str


@dataclass(frozen=True)
class Offered:
    """A file that can be chosen: who has it, and why none of them can use it (empty: one can)."""

    name: str
    generators: tuple[str, ...]
    fault: str = ""


def here() -> dict[str, Reasons]:
    """What this host has, by engine, as a generator writes it down."""
    return {name: reasons for name in ENGINES if (reasons := engines.engine(name).host_files()) is not None}


def needed(engine: str, options: dict[str, Any]) -> Needed | None:
    """The file that a run with these options needs; None where it needs none."""
    found = engines.engine(engine).file_needed(options) if engine in ENGINES else None
    return Needed(engine, *found) if found else None


def reasons_by(generator: Known, engine: str) -> Reasons | None:
    """What a generator has for an engine; None where it has not told of it."""
    return None if generator.files is None else generator.files.get(engine)


def wrong_with(generator: Known, need: Needed | None) -> str:
    """Why a generator can't give a run the file; empty where it can, or has not told."""
    reasons = reasons_by(generator, need.engine) if need else None
    if need is None or reasons is None:
        return ""
    if need.name in reasons:
        fault = reasons[need.name]
        return f"{need.name} of generator {generator.name!r} can't be used: {fault}" if fault else ""
    usable = ", ".join(name for name, fault in reasons.items() if not fault)
    instead = f"use {usable}, or " if usable else ""
    return f"generator {generator.name!r} has no {need.name}: {instead}{REMEDIES[need.engine]}"


def can_carry(generator: Known, engine: str, need: Needed | None) -> bool:
    """Whether it has the engine and the file, as far as it has told."""
    return not generator.lacks(engine) and not wrong_with(generator, need)


def offered(engine: str, names: Iterable[str]) -> list[Offered]:
    """What those named all have, or any that lives and has the engine; where none has told, what this host has."""
    wanted = set(names)
    able = [one for one in registry.known_or_remembered()[0] if one.alive is not False and not one.lacks(engine)]
    aimed = [one for one in able if not wanted or one.name in wanted]
    reasons = {one.name: files for one in aimed if (files := reasons_by(one, engine)) is not None}
    if not reasons:
        return [Offered(name, (), fault) for name, fault in here().get(engine, {}).items()]
    found = (_offered(name, reasons) for name in sorted(set().union(*reasons.values())))
    return [one for one in found if not wanted or len(one.generators) == len(reasons)]


def _offered(name: str, reasons: dict[str, Reasons]) -> Offered:
    having = {generator: files[name] for generator, files in reasons.items() if name in files}
    return Offered(name, tuple(having), min(having.values()))


def check(engine: str, options: dict[str, Any], generators: Sequence[str] = ()) -> None:
    """Refuse a file that one of those named, or each that lives, lacks or must not use; raises `InvalidOptions`.

    One that has not told is believed: it looks at the file again before it starts.
    """
    need = needed(engine, options)
    if need is None:
        return
    named = {name.strip() for name in generators} - {selection.ANY, ""}
    found = [one for one in registry.known_or_remembered()[0] if one.alive is not False]
    aimed = [one for one in found if (one.name in named if named else not one.lacks(engine))]
    faults = [fault for one in aimed if (fault := wrong_with(one, need))]
    if faults and (named or len(faults) == len(aimed)):
        raise InvalidOptions({need.option: faults})
