"""The spec that a revision was rendered from, kept as text: only the pools that are used are parsed."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Self

POOLS = "pools"
HEAD = '{"id": "'  # each pool's line begins with it


class Specs(Mapping[str, Any]):
    """`{"pools": [fields of a pool], "settings": {}, "user_settings": {}, "files": {setting: time}}`.

    Empty for a revision from before the panel kept them.
    `lines` holds each pool's JSON by its id; equal lines mean equal pools.
    """

    def __init__(self, others: Mapping[str, Any] | None = None, lines: Mapping[str, str] | None = None) -> None:
        self._others, self.lines = others, dict(lines or {})
        self._read: dict[str, dict[str, Any]] = {}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Specs":
        """Build them from plain dictionaries."""
        if isinstance(plain, Specs):
            return plain
        made = cls({name: value for name, value in plain.items() if name != POOLS} if plain else None)
        for fields in plain.get(POOLS, []):
            made.add(fields)
        return made

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Build them from `text`."""
        others, *pools = text.split("\n")
        start = len(HEAD)
        lines = {line[start : line.index('"', start)]: line for line in pools}
        return cls(json.loads(others) if others else None, lines)

    @property
    def text(self) -> str:
        """A line of JSON for everything except the pools, then one for each pool."""
        return "\n".join([json.dumps(self._others), *self.lines.values()]) if self else ""

    def add(self, fields: dict[str, Any]) -> None:
        """Add a pool by its `id`."""
        pk = fields["id"]
        self.lines[pk], self._read[pk] = json.dumps({"id": pk, **fields}), fields

    def pool(self, pk: str) -> dict[str, Any]:
        """Return the fields of one pool. Raises `KeyError`."""
        if pk not in self._read:
            self._read[pk] = json.loads(self.lines[pk])
        return self._read[pk]

    def __getitem__(self, name: str) -> Any:
        if self._others is None:
            raise KeyError(name)
        return [self.pool(pk) for pk in self.lines] if name == POOLS else self._others[name]

    def __iter__(self) -> Iterator[str]:
        return iter(() if self._others is None else (POOLS, *self._others))

    def __len__(self) -> int:
        return 0 if self._others is None else 1 + len(self._others)
