"""Reads TOML that somebody wrote, checks what it says by a JSON schema, and finds the line of a key.

tomllib reports the line of a syntax error only.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from core.lib.nesting import MOST_LEVELS, is_too_deep

if TYPE_CHECKING:
    from jsonschema import ValidationError

Path = Sequence[str | int]
_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"^\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\")(?:\s*\.\s*(?:[A-Za-z0-9_-]+|\"[^\"]*\"))*)\s*=")


class NotToml(ValueError):
    """The text is no TOML, or none that can be kept; the message is the reason."""


def read(text: str) -> dict[str, object]:
    """Parse a text; raises `NotToml`, also for what tomllib itself does not refuse in its own words.

    Those are nested arrays (RecursionError), keys of a thousand dots, and integers of more than 4300 digits (the
    ValueError of `int`); further what JSON and the database have no place for: `nan`, `inf`, and NUL.
    """
    try:
        parsed = tomllib.loads(text)
    except RecursionError:
        raise NotToml(_too_deep()) from None
    except ValueError as error:
        raise NotToml(str(error)) from None
    if is_too_deep(parsed):
        raise NotToml(_too_deep())
    try:
        written = json.dumps(parsed, allow_nan=False, default=str)
    except ValueError:
        raise NotToml(_("it holds nan or inf, which can't be stored: write a number")) from None
    if r"\u0000" in written:
        raise NotToml(_("it holds the character NUL, which can't be stored: leave it out"))
    return parsed


def _too_deep() -> str:
    return _("it is nested deeper than %(levels)d levels: flatten it") % {"levels": MOST_LEVELS}


def schema_faults(raw: Mapping[str, Any], schema: Mapping[str, Any]) -> "list[ValidationError]":
    """Return the violations of the schema (JSON Schema 2020-12) in a parsed text, in the order of the paths."""
    from jsonschema import Draft202012Validator  # takes as long as all models, and most processes read no such text

    return sorted(Draft202012Validator(schema).iter_errors(raw), key=lambda one: list(map(str, one.absolute_path)))


def line_of(text: str, path: Path) -> int:
    """Return the line (from 1) where the value of that path begins; that of its nearest parent where it has none."""
    known = _places(text)
    for length in range(len(path), 0, -1):
        if found := known.get(tuple(path[:length])):
            return found
    return 1


def _places(text: str) -> dict[tuple[str | int, ...], int]:
    """Map the path of each header and key to its line; values inside inline tables share the line of their key."""
    places: dict[tuple[str | int, ...], int] = {}
    counts: dict[tuple[str | int, ...], int] = {}
    at: tuple[str | int, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            at = _entered(_parts(header[2]), header[1] == "[[", counts)
            places.setdefault(at, number)
        elif key := _KEY.match(line):
            places.setdefault((*at, *_parts(key[1])), number)
    return places


def _entered(parts: list[str], is_array: bool, counts: dict[tuple[str | int, ...], int]) -> tuple[str | int, ...]:
    """Return the path of a header, with the number of each array of tables on the way that is meant by it."""
    path: tuple[str | int, ...] = ()
    for depth, part in enumerate(parts):
        path = (*path, part)
        if is_array and depth == len(parts) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _parts(dotted: str) -> list[str]:
    return [part.strip().strip('"') for part in re.findall(r'"[^"]*"|[^."\s][^."]*', dotted)]
