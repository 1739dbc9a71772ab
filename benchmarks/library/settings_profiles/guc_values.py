"""Values of server settings as PostgreSQL reads them (guc.c, parse_int and parse_bool); pure."""

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

_NUMBER = re.compile(
    r"\s*(?P<number>[+-]?(?:0x[0-9a-fA-F]+|[0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?))\s*(?P<unit>[A-Za-z]*)\s*"
)
_BYTES = {"B": 1, "kB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}
_MICROSECONDS = {"us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True)
class ServerSetting:
    """One row of pg_settings; `unit` is empty where the setting has none."""

    name: str
    setting: str
    unit: str
    context: str
    vartype: str
    choices: tuple[str, ...] = ()
    minimum: str = ""
    maximum: str = ""
    source: str = ""
    pending_restart: bool = False

    @property
    def needs_restart(self) -> bool:
        """True if a new value takes effect only when the server starts."""
        return self.context == "postmaster"

    @property
    def shown(self) -> str:
        """Its present value with its unit, as ALTER SYSTEM takes it: `16384 × 8kB` is `128MB`."""
        return in_words(self.setting, self.unit)


def read(known: ServerSetting, text: str) -> str:
    """Return the value as `pg_settings.setting` would show it, so that two values can be compared.

    Raises ValueError with the fault and the remedy.
    """
    if "\x00" in text or "\n" in text or "\r" in text:
        raise ValueError(_("a value is one line: leave out line breaks and NUL"))
    readers = {"bool": _boolean, "enum": _choice, "integer": _number, "real": _number}
    return readers[known.vartype](known, text) if known.vartype in readers else text


def in_words(setting: str, unit: str) -> str:
    """Return a value of pg_settings in the largest unit that keeps it whole: `16384` of `8kB` is `128MB`."""
    times, table = _unit(unit)
    if table is None or not setting.isdigit() or setting == "0":
        return setting
    size = int(setting) * times
    return next(
        f"{size // factor}{name}"
        for name, factor in sorted(table.items(), key=_factor, reverse=True)
        if size % factor == 0
    )


def _factor(item: tuple[str, int]) -> int:
    return item[1]


def _unit(unit: str) -> tuple[int, dict[str, int] | None]:
    """Return the size of pg_settings' unit in bytes or microseconds, and the units of its kind; (1, None) for none."""
    parts = re.fullmatch(r"(\d*)([A-Za-z]+)", unit)
    for table in (_BYTES, _MICROSECONDS):
        if parts and parts[2] in table:
            return int(parts[1] or 1) * table[parts[2]], table
    return 1, None


def _boolean(known: ServerSetting, text: str) -> str:
    word = text.strip().lower()
    if word not in _BOOLEANS:
        raise ValueError(_("%(text)s is neither on nor off: use one of these") % {"text": repr(text)})
    return "on" if _BOOLEANS[word] else "off"


def _choice(known: ServerSetting, text: str) -> str:
    word = text.strip().lower()
    if word in known.choices:
        return word
    if word in _BOOLEANS:  # synchronous_commit and its like take yes and no beside their own words
        word = "on" if _BOOLEANS[word] else "off"
        if word in known.choices:
            return word
    raise ValueError(
        _("%(text)s is none of its values: use %(choices)s") % {"text": repr(text), "choices": ", ".join(known.choices)}
    )


def _number(known: ServerSetting, text: str) -> str:
    found = _NUMBER.fullmatch(text)
    if not found:
        raise ValueError(_not_a_number(known, text))
    number = _in_base_unit(known, found["number"], found["unit"])
    if known.vartype == "integer":
        number = round(number)
    low, high = float(known.minimum or "-inf"), float(known.maximum or "inf")
    if not low <= number <= high:
        least, most = (in_words(bound, known.unit) for bound in (known.minimum, known.maximum))
        raise ValueError(
            _("%(text)s is out of range: use %(least)s to %(most)s")
            % {"text": repr(text), "least": least, "most": most}
        )
    return f"{number:g}" if isinstance(number, float) else str(number)


def _in_base_unit(known: ServerSetting, number: str, unit: str) -> float:
    value = float(int(number, 16)) if "0x" in number else float(number)
    if not unit:
        return value
    times, table = _unit(known.unit)
    if table is None:
        raise ValueError(
            _("%(number)s%(unit)s has a unit, and %(name)s takes none: leave it out")
            % {"number": number, "unit": unit, "name": known.name}
        )
    if unit not in table:
        text = _("%(unit)s is not a unit of %(name)s: use a number with one of the units %(units)s")
        raise ValueError(text % {"unit": repr(unit), "name": known.name, "units": ", ".join(table)})
    return value * table[unit] / times


def _not_a_number(known: ServerSetting, text: str) -> str:
    _times, table = _unit(known.unit)
    if table:
        sentence = _("%(value)s is not a number: use a number with one of the units %(units)s")
        return sentence % {"value": repr(text), "units": ", ".join(table)}
    return _("%(value)s is not a number: use a number without a unit") % {"value": repr(text)}
