"""The variables of a run's scripts (`-D`): numbers, and text that stays text under every protocol; pure.

Under the simple protocol pgbench puts a value into the statement as it stands, even inside quotes; under the others it
sends it apart from the statement. So `:name` stands without quotes in a script, and means the same under all three:
under the simple protocol text is passed as a literal with its quotes. There it holds a word alone, for a script that
writes quotes of its own round the name would put the text outside of them, where blanks or signs would be SQL.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

from benchmarks.engines import option_parsing
from benchmarks.engines.base import Field

MOST = 100
TEXT_CHARACTERS = 1000
MOST_WHOLE = 2**63 - 1
PGBENCHS_OWN = frozenset({"client_id", "scale", "random_seed", "default_seed"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_WORD = re.compile(r"(?!.*--)[A-Za-z0-9_.@+:/-]+")


def read_variables(_field: Field, value: Any) -> dict[str, int | float | str] | None:
    """Names with numbers or text; raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError('give names with numbers or text: {"rows": 10, "city": "Oslo"}')
    if len(value) > MOST:
        raise ValueError(f"{len(value)} variables are too many: use at most {MOST}")
    return {_name(name): _value(name, one) for name, one in value.items()} or None


def _name(name: Any) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"{option_parsing.shown(name)} is no name of a variable: use letters, digits and _, at most 63"
        )
    if name in PGBENCHS_OWN:
        raise ValueError(f"pgbench sets {name} itself: choose another name")
    return name


def _value(name: str, value: Any) -> int | float | str:
    if isinstance(value, str):
        return _text(name, value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name} is {option_parsing.shown(value)}: use a number, or text in quotes")
    if isinstance(value, int) and abs(value) > MOST_WHOLE:
        raise ValueError(f"{name} is {option_parsing.shown(value)}: use a number of at most {MOST_WHOLE:,}")
    return value


def _text(name: str, value: str) -> str:
    if not value.isprintable() or len(value) > TEXT_CHARACTERS:
        raise ValueError(f"{name} is no text to pass: use at most {TEXT_CHARACTERS:,} characters that can be printed")
    return value


def contradictions(options: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Text that the protocol of the run can't carry."""
    if options.get("protocol") != "simple":
        return
    for name, value in (options.get("variables") or {}).items():
        if isinstance(value, str) and not _WORD.fullmatch(value):
            yield (
                "variables",
                f"{name} is {option_parsing.shown(value)}, and the simple protocol carries only a word of letters, "
                "digits and _ . @ + : / - in a variable: use the extended or prepared protocol",
            )


def words(options: dict[str, Any]) -> list[str]:
    """What passes them to pgbench."""
    simple = options.get("protocol") == "simple"
    given = (options.get("variables") or {}).items()
    return [word for name, value in given for word in ("-D", f"{name}={_passed(value, simple=simple)}")]


def _passed(value: int | float | str, *, simple: bool) -> str:
    """A negative number has a blank before it, or `5-:x` would become a comment."""
    if isinstance(value, str):
        return f"'{value}'" if simple else value
    return f" {value!r}" if repr(value).startswith("-") else repr(value)
