"""Manual edits of a pooler's files, in the terms of the panel's records; the same for every kind of pooler."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.utils.translation import gettext as _


@dataclass(frozen=True)
class Refusal:
    """A line without an equivalent in the panel's records, counted from 1 (0: the whole file), and the reason."""

    file: str
    line: int
    why: str

    def __str__(self) -> str:
        if not self.line:
            return f"{self.file}: {self.why}"
        return _("%(file)s, line %(line)d: %(reason)s") % {"file": self.file, "line": self.line, "reason": self.why}


@dataclass
class Adoption:
    """The changes: pools' fields by id, new pools by their fields (`host` and `port` lead to their cluster).

    `settings` and `users` hold texts as they were written, None where they were not changed; `changed_settings` only
    those that were changed (None: removed); `passwords` are by role, `given` files by setting. With any refusal none
    of it may be adopted.
    """

    changed: dict[UUID, dict[str, object]] = field(default_factory=dict)
    fresh: list[dict[str, object]] = field(default_factory=list)
    gone: set[UUID] = field(default_factory=set)
    settings: Mapping[str, str] | None = None
    changed_settings: Mapping[str, str | None] = field(default_factory=dict)
    users: Mapping[str, Mapping[str, str]] | None = None
    passwords: dict[str, str] = field(default_factory=dict, repr=False)
    given: dict[str, str] = field(default_factory=dict, repr=False)
    refused: list[Refusal] = field(default_factory=list)

    def refuse(self, file: str, line: int, why: str) -> None:
        """Record a line that can't be adopted."""
        self.refused.append(Refusal(file, line, why))
