"""Which version of a load program will carry a run, as far as is known before a worker takes it."""

from collections.abc import Sequence
from typing import Any

from benchmarks.engines import engine
from benchmarks.errors import BenchmarksError, InvalidOptions
from benchmarks.generators import registry, selection

Version = tuple[int, int]


def known(engine_name: str, generators: Sequence[str] = ()) -> Version | None:
    """The oldest among the generators that may take it (named, or any that lives), else of the program here.

    None where neither is known: then the worker that takes the run refuses what its program lacks.
    """
    return _of_generators(engine_name, generators) or _here(engine_name)


def check(engine_name: str, options: dict[str, Any], generators: Sequence[str] = ()) -> Version | None:
    """Refuse options that the program lacks, by name; its version where that is `known`. Raises `InvalidOptions`."""
    version = known(engine_name, generators)
    if version and (errors := engine(engine_name).unsupported_options(options, version)):
        raise InvalidOptions(errors)
    return version


def _of_generators(engine_name: str, generators: Sequence[str]) -> Version | None:
    named = {name.strip() for name in generators} - {selection.ANY, ""}
    able = [one for one in registry.known_or_remembered()[0] if one.alive is not False]
    described = ((one.engines or {}).get(engine_name, "") for one in able if not named or one.name in named)
    return min(filter(None, map(_version_of, described)), default=None)


def _version_of(text: str) -> Version | None:
    """(15, 18) of `15.18`; None for anything else, since a worker of another release wrote it."""
    major, _, minor = text.partition(".")
    return (int(major), int(minor or 0)) if major.isdecimal() and (minor or "0").isdecimal() else None


def _here(engine_name: str) -> Version | None:
    try:
        program = engine(engine_name).find()
    except BenchmarksError:
        return None
    found: Version = program.version
    return found
