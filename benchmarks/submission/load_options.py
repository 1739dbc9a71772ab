"""All options that a run may carry: its engine's, and the panel's own beside them."""

from typing import Any

from benchmarks.conditions import options as conditions
from benchmarks.engines import engine
from benchmarks.engines.contract import Field
from benchmarks.errors import InvalidOptions
from benchmarks.models import Purpose
from benchmarks.scripts import library


def fields_for(engine_name: str, purpose: str) -> tuple[Field, ...]:
    """The options of a run of this engine and purpose, in the order of the form."""
    own = conditions.FIELDS if purpose == Purpose.LOAD else ()
    return (*engine(engine_name).fields_for(purpose), *own)


def validate(engine_name: str, raw: dict[str, Any], *, purpose: str) -> dict[str, Any]:
    """All options, typed and filled with defaults; raises `InvalidOptions` with every fault found."""
    raw = library.filled(raw)
    own = {name: value for name, value in raw.items() if purpose == Purpose.LOAD and name in conditions.NAMES}
    checked: dict[str, Any] = {}
    errors: dict[str, list[str]] = {}
    for check in (
        lambda: engine(engine_name).validate({n: v for n, v in raw.items() if n not in own}, purpose=purpose),
        lambda: conditions.validate(own),
    ):
        try:
            checked |= check()
        except InvalidOptions as error:
            errors |= error.errors
    if errors:
        raise InvalidOptions(errors)
    return checked
