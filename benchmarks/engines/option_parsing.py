"""Turns typed options into values of their fields; pure.

Nothing is corrected silently: a value is taken as it is, or refused with its range.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import SupportsFloat

from django.utils.translation import gettext as _

from benchmarks.engines.base import Field, Value

TEXT_CHARACTERS = 200
Reader = Callable[[Field, object], object]


def read(
    fields: Iterable[Field], raw: Mapping[str, object], readers: Mapping[str, Reader] | None = None
) -> tuple[dict[str, object], dict[str, list[str]]]:
    """Return the values given for these fields, and the errors of the others; names of no field are ignored.

    Numbers may be text, as forms send them; an empty text or None counts as left out. `readers` parse kinds that only
    one engine has, by kind; each raises ValueError with the reason.
    """
    known = {**READERS, **(readers or {})}
    values: dict[str, object] = {}
    errors: dict[str, list[str]] = {}
    for field in fields:
        if not is_given(raw.get(field.name)):
            continue
        try:
            values[field.name] = known[field.kind](field, raw[field.name])
        except ValueError as error:
            errors[field.name] = [str(error)]
    return values, errors


def is_given(value: object) -> bool:
    """Return whether a value is neither None nor an empty text."""
    return value is not None and value != ""


def _integer(field: Field, value: object) -> int:
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        value = int(value) if len(value) <= 20 else value
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(
            _("%(value)s is not a whole number: use %(range)s") % {"value": quoted(value), "range": _range(field)}
        )
    return int(_within(field, value))


def _number(field: Field, value: object) -> float:
    try:
        number = float(value) if isinstance(value, str | SupportsFloat) and not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(
            _("%(value)s is not a number: use %(range)s") % {"value": quoted(value), "range": _range(field)}
        )
    return _within(field, number)


def _within(field: Field, number: float) -> float:
    low, high = field.minimum, field.maximum
    if (low is not None and number < low) or (high is not None and number > high):
        raise ValueError(
            _("%(number)s is out of range: use %(range)s") % {"number": f"{number:,}", "range": _range(field)}
        )
    return number


def _range(field: Field) -> str:
    ends = {"minimum": f"{field.minimum:,}", "maximum": f"{field.maximum:,}"}
    if field.unit:
        return _("%(minimum)s to %(maximum)s %(unit)s") % (ends | {"unit": field.unit})
    return _("%(minimum)s to %(maximum)s") % ends


def _boolean(field: Field, value: object) -> bool:
    words = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise ValueError(
        _("%(value)s is neither true nor false: use one of these for %(name)s")
        % {"value": quoted(value), "name": field.name}
    )


def _choice(field: Field, value: object) -> str:
    if not isinstance(value, str) or value not in field.choices:
        raise ValueError(
            _("%(value)s is not a choice of “%(label)s”: use one of %(choices)s")
            % {"value": quoted(value), "label": field.label, "choices": ", ".join(field.choices)}
        )
    return value


def _text(field: Field, value: object) -> str:
    if not isinstance(value, str) or len(value) > TEXT_CHARACTERS or "\x00" in value:
        raise ValueError(
            _("%(value)s is not a text: use at most %(text_characters)s characters, without NUL")
            % {"value": quoted(value), "text_characters": TEXT_CHARACTERS}
        )
    return value


def as_text(value: object) -> str:
    """Return a number as programs read it: without exponent, without trailing zeros."""
    return f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def quoted(value: object) -> str:
    """Return a typed value as an error message repeats it: its repr, cut at 60 characters."""
    return repr(value) if len(repr(value)) <= 60 else repr(value)[:60] + "…"


READERS: Mapping[str, Callable[[Field, object], Value]] = {
    "int": _integer,
    "float": _number,
    "bool": _boolean,
    "choice": _choice,
    "text": _text,
}
