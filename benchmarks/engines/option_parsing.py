"""Options as they were typed, turned into values of their fields; pure.

Nothing typed is corrected silently: a value is taken as it stands or refused with its range.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.engines.base import Field, Value

TEXT_CHARACTERS = 200
Reader = Callable[[Field, Any], Any]


def read(
    fields: Iterable[Field], raw: dict[str, Any], readers: dict[str, Reader] | None = None
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The values given for these fields, and what is wrong with the others; names of no field are left alone.

    Numbers may come as text, as forms send them; an empty text or None counts as left out. `readers` are those of
    kinds that only one engine knows, by kind; each raises ValueError with the reason.
    """
    known = READERS | (readers or {})
    values: dict[str, Any] = {}
    errors: dict[str, list[str]] = {}
    for field in fields:
        if not is_given(raw.get(field.name)):
            continue
        try:
            values[field.name] = known[field.kind](field, raw[field.name])
        except ValueError as error:
            errors[field.name] = [str(error)]
    return values, errors


def is_given(value: Any) -> bool:
    """Whether something was said at all."""
    return value is not None and value != ""


def _whole(field: Field, value: Any) -> int:
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        value = int(value) if len(value) <= 20 else value
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{shown(value)} is not a whole number: {_range(field)}")
    return int(_within(field, value))


def _number(field: Field, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{shown(value)} is not a number: {_range(field)}")
    return _within(field, number)


def _within(field: Field, number: float) -> float:
    low, high = field.minimum, field.maximum
    if (low is not None and number < low) or (high is not None and number > high):
        raise ValueError(f"{number:,} is out of range: {_range(field)}")
    return number


def _range(field: Field) -> str:
    unit = f" {field.unit}" if field.unit else ""
    return f"use {field.minimum:,} to {field.maximum:,}{unit}"


def _yes_or_no(field: Field, value: Any) -> bool:
    words = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise ValueError(f"{shown(value)} is neither true nor false: use one of these for {field.name}")


def _choice(field: Field, value: Any) -> str:
    if not isinstance(value, str) or value not in field.choices:
        raise ValueError(f"{shown(value)} is no {field.label.lower()} here: use one of {', '.join(field.choices)}")
    return value


def _text(field: Field, value: Any) -> str:
    if not isinstance(value, str) or len(value) > TEXT_CHARACTERS or "\x00" in value:
        raise ValueError(f"{shown(value)} is not a text: use at most {TEXT_CHARACTERS} characters, without NUL")
    return value


def shown(value: Any) -> str:
    """What was typed, as an error message repeats it."""
    return repr(value) if len(repr(value)) <= 60 else repr(value)[:60] + "…"


READERS: dict[str, Callable[[Field, Any], Value]] = {
    "int": _whole,
    "float": _number,
    "bool": _yes_or_no,
    "choice": _choice,
    "text": _text,
}
