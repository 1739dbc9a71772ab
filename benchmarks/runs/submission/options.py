"""All options that a run may carry: its engine's, and the panel's own beside them."""

from collections.abc import Callable
from typing import Any

from benchmarks.engines import engine
from benchmarks.engines.base import Field
from benchmarks.errors import InvalidOptions
from benchmarks.library.scripts import library
from benchmarks.models import Purpose
from benchmarks.runs.setup import options as setup_options


def fields_for(engine_name: str, purpose: str) -> tuple[Field, ...]:
    """The options of a run of this engine and purpose, in the order of the form."""
    own = setup_options.FIELDS if purpose == Purpose.LOAD else ()
    return (*engine(engine_name).fields_for(purpose), *own)


def validate(engine_name: str, raw: dict[str, Any], *, purpose: str) -> dict[str, Any]:
    """All options, typed and filled with defaults; raises `InvalidOptions` with every fault found."""
    raw = library.filled(raw)
    own = {name: value for name, value in raw.items() if purpose == Purpose.LOAD and name in setup_options.NAMES}
    checked: dict[str, Any] = {}
    errors: dict[str, list[str]] = {}
    checks: tuple[Callable[[], dict[str, Any]], ...] = (
        lambda: engine(engine_name).validate({n: v for n, v in raw.items() if n not in own}, purpose=purpose),
        lambda: setup_options.validate(own),
    )
    for check in checks:
        try:
            checked |= check()
        except InvalidOptions as error:
            errors |= error.errors
    if not errors and (reason := _why_no_warm_up(engine_name, checked, purpose)):
        errors["warm_up"] = [reason]
    if errors:
        raise InvalidOptions(errors)
    return checked


def _why_no_warm_up(engine_name: str, options: dict[str, Any], purpose: str) -> str:
    """Why the load can't be warmed up for; empty where it can, or need not."""
    tables = engine(engine_name).tables_of(options, purpose=purpose) if options.get("warm_up") else None
    if tables is None or not tables.needed_empty:
        return ""
    return (
        f"{tables.writes} needs {tables.called} empty, and a warm-up of {options['warm_up']} s would fill them before "
        "the load begins: leave it out"
    )
