"""Finds the line of a key in a TOML text: tomllib reports the line of a syntax error only."""

import re
from collections.abc import Sequence

Path = Sequence[str | int]
_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"^\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\")(?:\s*\.\s*(?:[A-Za-z0-9_-]+|\"[^\"]*\"))*)\s*=")


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
