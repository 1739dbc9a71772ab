"""Version of the load program that will carry a run, as far as it is known before a worker takes the run."""

from collections.abc import Sequence
from typing import Any

from benchmarks.engines import engine
from benchmarks.errors import BenchmarksError, InvalidOptions
from benchmarks.generators import registry, selection

Version = tuple[int, int]


def known(engine_name: str, generators: Sequence[str] = ()) -> Version | None:
    """Return the oldest version among the generators that may take it (named, or any live one), else of this host.

    None where neither is known: then the worker that takes the run refuses options that its program lacks.
    """
    return _of_generators(engine_name, generators) or _here(engine_name)


def check(engine_name: str, options: dict[str, Any], generators: Sequence[str] = ()) -> Version | None:
    """Refuse options that the program lacks, by name; return its version where `known`. Raises `InvalidOptions`."""
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
    """Return (15, 18) for `15.18`; None for any other text, since a worker of another release wrote it."""
    major, _, minor = text.partition(".")
    return (int(major), int(minor or 0)) if major.isdecimal() and (minor or "0").isdecimal() else None


def _here(engine_name: str) -> Version | None:
    try:
        program = engine(engine_name).find()
    except BenchmarksError:
        return None
    found: Version = program.version
    return found
