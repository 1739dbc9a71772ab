"""Files on a generator's host that runs name (JMeter plans, scripts of tpcc): listed and checked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from benchmarks import engines
from benchmarks.engines import ENGINES
from benchmarks.errors import InvalidOptions
from benchmarks.generators import registry, selection
from benchmarks.generators.registry import GeneratorStatus
from benchmarks.models.options import RunOptions

Reasons = dict[str, str]  # file → why runs can't use it (empty: they can)


@dataclass(frozen=True)
class RequiredFile:
    """A file that a run of this engine needs, and the option that names it."""

    engine: str
    option: str
    name: str


@dataclass(frozen=True)
class FileChoice:
    """A file to choose from, the generators that have it, and why none can use it (empty: one can)."""

    name: str
    generators: tuple[str, ...]
    fault: str = ""


def here() -> dict[str, Reasons]:
    """Return the files of this host by engine, as a generator records them."""
    return {name: reasons for name in ENGINES if (reasons := engines.engine(name).host_files()) is not None}


def needed(engine: str, options: RunOptions) -> RequiredFile | None:
    """Return the file that a run with these options needs; None where it needs none."""
    found = engines.engine(engine).file_needed(options) if engine in ENGINES else None
    return RequiredFile(engine, *found) if found else None


def reasons_by(generator: GeneratorStatus, engine: str) -> Reasons | None:
    """Return a generator's files for an engine; None where it has not reported them."""
    return None if generator.files is None else generator.files.get(engine)


def wrong_with(generator: GeneratorStatus, need: RequiredFile | None) -> str:
    """Return why a generator can't provide the file; empty where it can, or has not reported its files."""
    reasons = reasons_by(generator, need.engine) if need else None
    if need is None or reasons is None:
        return ""
    if need.name in reasons:
        fault = reasons[need.name]
        text = _("%(file)s of generator %(generator)s can't be used: %(fault)s")
        return text % {"file": need.name, "generator": repr(generator.name), "fault": fault} if fault else ""
    usable = ", ".join(name for name, fault in reasons.items() if not fault)
    sentences = ENGINES[need.engine].missing_file
    missing = sentences.missing_beside_others if usable else sentences.missing
    return str(missing) % {"generator": repr(generator.name), "file": need.name, "usable": usable}


def can_carry(generator: GeneratorStatus, engine: str, need: RequiredFile | None) -> bool:
    """Test whether it has the engine and the file, as far as it reported."""
    return not generator.lacks(engine) and not wrong_with(generator, need)


def offered(engine: str, names: Iterable[str]) -> list[FileChoice]:
    """Return the files that all named generators have, or any live one with the engine; else this host's files."""
    hosts = set(names)
    able = [one for one in registry.known_or_remembered()[0] if one.alive is not False and not one.lacks(engine)]
    aimed = [one for one in able if not hosts or one.name in hosts]
    reasons = {one.name: files for one in aimed if (files := reasons_by(one, engine)) is not None}
    if not reasons:
        return [FileChoice(name, (), fault) for name, fault in here().get(engine, {}).items()]
    found = (_offered(name, reasons) for name in sorted(set().union(*reasons.values())))
    return [one for one in found if not hosts or len(one.generators) == len(reasons)]


def _offered(name: str, reasons: dict[str, Reasons]) -> FileChoice:
    having = {generator: files[name] for generator, files in reasons.items() if name in files}
    return FileChoice(name, tuple(having), min(having.values()))


def check(engine: str, options: RunOptions, generators: Sequence[str] = ()) -> None:
    """Refuse a file that a named generator, or every live one, lacks or must not use; raise `InvalidOptions`.

    A generator that has not reported is trusted: it checks the file again before it starts.
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
