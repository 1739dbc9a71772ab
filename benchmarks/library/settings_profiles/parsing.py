"""Parses a typed profile: one `name = value` on each line, as in postgresql.conf; pure."""

import re
from collections.abc import Mapping

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

MOST_SETTINGS = 100
_LINE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_.]{0,62})\s*(?:=|\s)\s*(?P<value>'(?:[^']|'')*'|[^\s#']+)\s*(?:#.*)?")


class WrongLines(ValueError):
    """Lines that are not settings; `faults` is line number → what is wrong with it."""

    def __init__(self, faults: dict[int, str]) -> None:
        self.faults = faults
        super().__init__(
            "; ".join(
                _("line %(number)s: %(fault)s") % {"number": number, "fault": fault} for number, fault in faults.items()
            )
        )


def parse(text: str) -> dict[str, str]:
    """Return name → value, without blank lines and comments; raise `WrongLines` with every fault."""
    values: dict[str, str] = {}
    faults: dict[int, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        found = _LINE.fullmatch(stripped)
        if not found:
            faults[number] = _(
                "%(line)s is not a setting: enter name = value, with quotes around a value with spaces"
            ) % {"line": repr(stripped[:60])}
        elif found["name"].lower() in values:
            faults[number] = _("%(name)s is set twice: leave one of them out") % {"name": found["name"].lower()}
        else:
            values[found["name"].lower()] = _unquoted(found["value"])
    if not values and not faults:
        faults[1] = _("there is no setting: write one on each line, as work_mem = 16MB")
    if len(values) > MOST_SETTINGS:
        text = ngettext(
            "%(count)s setting is too many: use at most %(most)s",
            "%(count)s settings are too many: use at most %(most)s",
            len(values),
        )
        faults[1] = text % {"count": len(values), "most": MOST_SETTINGS}
    if faults:
        raise WrongLines(faults)
    return values


def written(values: Mapping[str, str]) -> str:
    """Return the lines for these values."""
    return "".join(f"{name} = {_quoted(value)}\n" for name, value in values.items())


def _unquoted(value: str) -> str:
    return value[1:-1].replace("''", "'") if value.startswith("'") else value


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"[^\s#']+", value) else "'" + value.replace("'", "''") + "'"
