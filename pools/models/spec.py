"""What a revision is rendered from, kept as text: of ten thousand pools only those that somebody asks for are read."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Self

POOLS = "pools"
HEAD = '{"id": "'  # each pool's line begins with it


class Specs(Mapping[str, Any]):
    """`{"pools": [fields of a pool], "settings": {}, "user_settings": {}, "files": {setting: time}}`.

    Empty of a revision that was made before the panel kept them.
    `lines` holds each pool's JSON by its id, and equal lines mean equal pools.
    """

    def __init__(self, others: Mapping[str, Any] | None = None, lines: Mapping[str, str] | None = None) -> None:
        self._others, self.lines = others, dict(lines or {})
        self._read: dict[str, dict[str, Any]] = {}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Specs":
        """The same of plain dictionaries."""
        if isinstance(plain, Specs):
            return plain
        made = cls({name: value for name, value in plain.items() if name != POOLS} if plain else None)
        for fields in plain.get(POOLS, []):
            made.add(fields)
        return made

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The reverse of `text`."""
        others, *pools = text.split("\n")
        start = len(HEAD)
        lines = {line[start : line.index('"', start)]: line for line in pools}
        return cls(json.loads(others) if others else None, lines)

    @property
    def text(self) -> str:
        """A line of JSON for all but the pools, then one for each of them."""
        return "\n".join([json.dumps(self._others), *self.lines.values()]) if self else ""

    def add(self, fields: dict[str, Any]) -> None:
        """Hold a pool by its `id`."""
        pk = fields["id"]
        self.lines[pk], self._read[pk] = json.dumps({"id": pk, **fields}), fields

    def pool(self, pk: str) -> dict[str, Any]:
        """The fields of one pool; raises `KeyError`."""
        if pk not in self._read:
            self._read[pk] = json.loads(self.lines[pk])
        return self._read[pk]

    def __getitem__(self, name: str) -> Any:
        """The plain value of one key; raises `KeyError`."""
        if self._others is None:
            raise KeyError(name)
        return [self.pool(pk) for pk in self.lines] if name == POOLS else self._others[name]

    def __iter__(self) -> Iterator[str]:
        return iter(() if self._others is None else (POOLS, *self._others))

    def __len__(self) -> int:
        return 0 if self._others is None else 1 + len(self._others)
