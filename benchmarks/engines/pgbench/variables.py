"""Variables of a run's scripts (`-D`): numbers, and text that stays text under every protocol; pure."""

import math
import re
from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.engines import option_parsing
from benchmarks.engines.base import Field
from benchmarks.engines.pgbench.typed_options import PgbenchOptions

MOST = 100
TEXT_CHARACTERS = 1000
MOST_WHOLE = 2**63 - 1
PGBENCHS_OWN = frozenset({"client_id", "scale", "random_seed", "default_seed"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_WORD = re.compile(r"(?!.*--)[A-Za-z0-9_.@+:/-]+")


def read_variables(_field: Field, value: object) -> dict[str, int | float | str] | None:
    """Return names with numbers or text; raise ValueError."""
    if not isinstance(value, dict):
        raise ValueError(_('give names with numbers or text: {"rows": 10, "city": "Oslo"}'))
    if len(value) > MOST:
        text = ngettext(
            "%(count)s variable is too many: use at most %(most)s",
            "%(count)s variables are too many: use at most %(most)s",
            len(value),
        )
        raise ValueError(text % {"count": len(value), "most": MOST})
    return {_name(name): _value(name, one) for name, one in value.items()} or None


def _name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            _("%(name)s is not a name for a variable: use letters, digits and _, at most 63")
            % {"name": option_parsing.quoted(name)}
        )
    if name in PGBENCHS_OWN:
        raise ValueError(_("pgbench sets %(name)s itself: choose another name") % {"name": name})
    return name


def _value(name: str, value: object) -> int | float | str:
    if isinstance(value, str):
        return _text(name, value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(
            _("%(name)s is %(value)s: use a number, or text in quotes")
            % {"name": name, "value": option_parsing.quoted(value)}
        )
    if isinstance(value, int) and abs(value) > MOST_WHOLE:
        raise ValueError(
            _("%(name)s is %(value)s: use a number of at most %(most)s")
            % {"name": name, "value": option_parsing.quoted(value), "most": f"{MOST_WHOLE:,}"}
        )
    return value


def _text(name: str, value: str) -> str:
    if not value.isprintable() or len(value) > TEXT_CHARACTERS:
        raise ValueError(
            _("the text of %(name)s can't be passed: use at most %(most)s printable characters")
            % {"name": name, "most": f"{TEXT_CHARACTERS:,}"}
        )
    return value


def contradictions(options: PgbenchOptions) -> Iterator[tuple[str, str]]:
    """Yield text that the protocol of the run can't carry."""
    if options.get("protocol") != "simple":
        return
    for name, value in (options.get("variables") or {}).items():
        if isinstance(value, str) and not _WORD.fullmatch(value):
            yield (
                "variables",
                _(
                    "%(name)s is %(value)s, and the simple protocol carries only a word of letters, digits and _ . @ "
                    "+ : / - in a variable: use the extended or prepared protocol"
                )
                % {"name": name, "value": option_parsing.quoted(value)},
            )


def arguments(options: PgbenchOptions) -> list[str]:
    """Return the arguments that pass the variables to pgbench."""
    simple = options.get("protocol") == "simple"
    variables = (options.get("variables") or {}).items()
    return [word for name, value in variables for word in ("-D", f"{name}={_passed(value, simple=simple)}")]


def _passed(value: int | float | str, *, simple: bool) -> str:
    """Return a value as pgbench reads it; a negative number gets a leading blank, or `5-:x` would become a comment."""
    if isinstance(value, str):
        return f"'{value}'" if simple else value
    return f" {value!r}" if repr(value).startswith("-") else repr(value)
