"""All options of a run: its engine's, and the panel's own."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import cast

from django.utils.translation import gettext as _

from benchmarks.engines import engine, option_parsing
from benchmarks.engines.base import Field
from benchmarks.errors import BenchmarksError, InvalidOptions
from benchmarks.generators import registry, selection
from benchmarks.generators.registry import GeneratorStatus
from benchmarks.library.scripts import library
from benchmarks.models import Purpose
from benchmarks.models.options import RunOptions
from benchmarks.runs.setup import options as setup_options
from core.accounts.access import Access


def fields_for(engine_name: str, purpose: str) -> tuple[Field, ...]:
    """Return the options of a run of this engine and purpose, in the order of the form."""
    own = setup_options.FIELDS if purpose == Purpose.LOAD else ()
    return (*engine(engine_name).fields_for(purpose), *own)


def validate(engine_name: str, raw: Mapping[str, object], *, purpose: str, access: Access | None = None) -> RunOptions:
    """Return all options, typed and with defaults; raise `InvalidOptions` with every fault found.

    `access` is that of the person who asks: scripts of the library that they may not see are not found.
    """
    raw = library.filled(raw, access)
    errors = _unknown(engine_name, raw, purpose)
    known = {name: value for name, value in raw.items() if name not in errors}
    own = {name: value for name, value in known.items() if purpose == Purpose.LOAD and name in setup_options.NAMES}
    checked: dict[str, object] = {}
    checks: tuple[Callable[[], Mapping[str, object]], ...] = (
        lambda: engine(engine_name).validate({n: v for n, v in known.items() if n not in own}, purpose=purpose),
        lambda: setup_options.validate(own),
    )
    for check in checks:
        try:
            checked |= check()
        except InvalidOptions as error:
            errors |= error.errors
    valid = cast("RunOptions", checked)
    if not errors and (reason := _why_no_warm_up(engine_name, valid, purpose)):
        errors["warm_up"] = [reason]
    if errors:
        raise InvalidOptions(errors)
    return valid


def _unknown(engine_name: str, raw: Mapping[str, object], purpose: str) -> dict[str, list[str]]:
    """Return the reason against each given name that is no option of this engine and purpose."""
    names = [field.name for field in fields_for(engine_name, purpose)]
    unknown = [name for name, value in raw.items() if name not in names and option_parsing.is_given(value)]
    return {name: [_why_unknown(name, names, engine_name, purpose)] for name in unknown}


def _why_unknown(name: str, names: list[str], engine_name: str, purpose: str) -> str:
    other = Purpose.PREPARE if purpose == Purpose.LOAD else Purpose.LOAD
    if name in {field.name for field in fields_for(engine_name, other)}:
        return _of_other_purpose(name, other)
    words = {"name": option_parsing.quoted(name), "options": ", ".join(names)}
    if not names:
        return _("%(name)s is not an option here: leave it out") % words
    if close := get_close_matches(name, names, n=1):
        text = _("%(name)s is not an option here: did you mean %(closest)s? Use %(options)s")
        return text % (words | {"closest": close[0]})
    return _("%(name)s is not an option here; use %(options)s") % words


def _of_other_purpose(name: str, other: str) -> str:
    if other == Purpose.PREPARE:
        text = _("%(name)s is set when a dataset is prepared; a run uses the tables as they are: leave it out")
    else:
        text = _("%(name)s is an option of a run, not of preparing a dataset: leave it out")
    return text % {"name": name}


def _why_no_warm_up(engine_name: str, options: RunOptions, purpose: str) -> str:
    """Return why the load can't have a warm-up; empty where it can, or none was asked for."""
    tables = engine(engine_name).tables_of(options, purpose=purpose) if options.get("warm_up") else None
    if tables is None or not tables.needed_empty:
        return ""
    return _(
        "%(script)s needs the %(kind)s tables empty, and a warm-up of %(seconds)s s would fill them before the "
        "load begins: leave it out"
    ) % {"script": tables.writes, "kind": tables.kind, "seconds": options["warm_up"]}


Version = tuple[int, int]


def known_program_version(
    engine_name: str, generators: Sequence[str] = (), known: Sequence[GeneratorStatus] | None = None
) -> Version | None:
    """Return the oldest version among the generators that may take it (named, or any live one), else of this host.

    None where neither is known: then the worker that takes the run refuses options that its program lacks. `known` are
    all generators, where they were asked for already.
    """
    listed = registry.known_or_remembered()[0] if known is None else known
    return _of_generators(engine_name, generators, listed) or _here(engine_name)


def check_program_version(engine_name: str, options: RunOptions, generators: Sequence[str] = ()) -> Version | None:
    """Refuse options that the program lacks, by name; return its version where known. Raises `InvalidOptions`."""
    version = known_program_version(engine_name, generators)
    if version and (errors := engine(engine_name).unsupported_options(options, version)):
        raise InvalidOptions(errors)
    return version


def _of_generators(engine_name: str, generators: Sequence[str], known: Sequence[GeneratorStatus]) -> Version | None:
    named = {name.strip() for name in generators} - {selection.ANY, ""}
    able = [one for one in known if one.alive is not False and (named or not one.ssh_host)]
    versions = ((one.engines or {}).get(engine_name, "") for one in able if not named or one.name in named)
    return min(filter(None, map(_version_of, versions)), default=None)


def _version_of(text: str) -> Version | None:
    """Return (15, 18) for `15.18`; None for any other text, since a worker of another release wrote it."""
    major, _, minor = text.partition(".")
    return (int(major), int(minor or 0)) if major.isdecimal() and (minor or "0").isdecimal() else None


def _here(engine_name: str) -> Version | None:
    try:
        program = engine(engine_name).find()
    except BenchmarksError:
        return None
    version: Version = program.version
    return version
