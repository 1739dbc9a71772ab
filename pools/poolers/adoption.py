"""What changes made by hand in a pooler's files ask for, in the panel's words, whatever the kind of pooler."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class Refusal:
    """A line that can't be said in the panel's records, counted from 1 (0: the file as a whole), and why."""

    file: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.why}" if self.line else f"{self.file}: {self.why}"


@dataclass
class Adoption:
    """The changes: pools' fields by id, new pools by their fields (`host` and `port` lead to their cluster).

    `settings` and `users` hold texts as they were written, None where they were not changed; `changed_settings` only
    those that were changed (None: taken out); `passwords` are by role, `given` files by setting. With any refusal
    none of it may be taken.
    """

    changed: dict[UUID, dict[str, Any]] = field(default_factory=dict)
    fresh: list[dict[str, Any]] = field(default_factory=list)
    gone: set[UUID] = field(default_factory=set)
    settings: Mapping[str, str] | None = None
    changed_settings: Mapping[str, str | None] = field(default_factory=dict)
    users: Mapping[str, Mapping[str, str]] | None = None
    passwords: dict[str, str] = field(default_factory=dict, repr=False)
    given: dict[str, str] = field(default_factory=dict, repr=False)
    refused: list[Refusal] = field(default_factory=list)

    def refuse(self, file: str, line: int, why: str) -> None:
        """Note a line that can't be taken."""
        self.refused.append(Refusal(file, line, why))
