"""Writes TOML, which the standard library only reads: for playbooks that the panel makes itself; pure."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def written(table: Mapping[str, Any]) -> str:
    """Return a table as TOML that reads back as it was; values that are None are left out."""
    return "\n".join(_lines(table, ())) + "\n"


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of a table, then its tables: a value after a header would belong to that."""
    given = {key: value for key, value in table.items() if value is not None}
    yield from (f"{_key(key)} = {_value(one)}" for key, one in given.items() if not _tables(one))
    for key, value in given.items():
        name = ".".join(map(_key, (*path, key)))
        for one in _tables(value):
            yield f"\n[{name}]" if isinstance(value, Mapping) else f"\n[[{name}]]"
            yield from _lines(one, (*path, key))


def _tables(value: Any) -> list[Mapping[str, Any]]:
    """Return what is written below a header of its own: a table, or each of a list of tables; else nothing."""
    if isinstance(value, Mapping):
        return [value]
    is_array = isinstance(value, list | tuple) and all(isinstance(one, Mapping) for one in value)
    return list(value) if is_array else []


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {_value(one)}" for key, one in value.items() if one is not None)
        return f"{{ {', '.join(pairs)} }}"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    """Return a basic string: JSON's, but that TOML has no pairs of surrogates and wants DEL escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
