"""What a take-over of any kind would do, and what letting go would: entries, files and what stands against it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pools.deployment import diff
from pools.models import Pool, Pooler, TakeOver
from pools.poolers.entry_logins import EntryLogin
from pools.poolers.operators_files import ReadFile

POOL, KEPT = "pool", "kept"  # an entry becomes one of these


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """What becomes of one entry: a `pool`, unsaved, or it is kept as it is `because`.

    `path` and `number` are where it stands, `leads_to` is its server, `unknown` the address of one that is not
    registered.
    """

    name: str
    path: str
    number: int
    leads_to: str
    answer: EntryLogin
    pool: Pool | None = None
    because: str = ""
    unknown: tuple[str, int] | None = None

    @property
    def becomes(self) -> str:
        """As the API says it."""
        return POOL if self.pool else KEPT

    def preview(self) -> dict[str, Any]:
        """Return it for the API."""
        pool = self.pool
        shown = ("database", "user", "mode", "size", "settings")
        return {
            "name": self.name,
            "becomes": self.becomes,
            "because": self.because,
            "source": {"file": self.path, "line": self.number},
            "login": {"role": self.answer.role, "error": self.answer.error},
            "cluster": {"id": str(pool.cluster_id), "name": pool.cluster.name} if pool else None,
            "pool": {name: getattr(pool, name) for name in shown} if pool else None,
            "register": {"host": self.unknown[0], "port": self.unknown[1]} if self.unknown else None,
        }


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The whole take-over; with any of `blockers` it can't be asked for, `notes` have to be known before.

    `taken` is the pooler's record, unsaved, as it is made. `contents` are the files to write by path, the first of them
    the panel's own; `appended` is what the main file gets at its end.
    """

    taken: Pooler
    proposals: Sequence[Proposal]
    blockers: list[str]
    notes: list[str] = field(default_factory=list)
    files_by_path: Mapping[str, ReadFile]
    appended: str = ""
    contents: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    masked: Callable[[diff.Texts], Mapping[str, str]] = field(repr=False)

    @property
    def pools(self) -> list[Pool]:
        """The unsaved pools that entries become."""
        return [one.pool for one in self.proposals if one.pool]

    @property
    def files(self) -> list[ReadFile]:
        """The files that it reads."""
        return list(self.files_by_path.values())

    @property
    def main_file(self) -> str:
        """The path of the file that it was started with."""
        return self.taken.config_file

    @property
    def changes(self) -> list[diff.FileDiff]:
        """The files that differ, secrets masked."""
        before = {path: self.files_by_path[path].text for path in self.contents if path in self.files_by_path}
        return diff.of_files(before, {path: self.text(path) for path in self.contents}, self.masked)

    def text(self, path: str) -> str:
        """Return the new text of a file that is written."""
        return self.contents[path].decode(errors="surrogateescape")

    def preview(self) -> dict[str, Any]:
        """Return `{entries, files, changes, blockers, notes}` for the API, without secrets."""
        return {
            "entries": [one.preview() for one in self.proposals],
            "files": [{"path": file.path, "role": file.role, "sha256": file.sha256} for file in self.files],
            "changes": [{"file": one.name, "diff": one.text} for one in self.changes],
            "blockers": self.blockers,
            "notes": self.notes,
        }


@dataclass(frozen=True)
class Release:
    """What letting go would do: `pools` become entries again, `lost` ones exist only in the panel's file.

    `files` has the bytes now and after by path, `edited` the paths of those that keep edits of others.
    """

    taken: TakeOver
    pools: list[Pool]
    lost: list[Pool]
    files: dict[str, tuple[bytes | None, bytes | None]] = field(repr=False)
    edited: list[str]
    blockers: list[str]
    masked: Callable[[diff.Texts], Mapping[str, str]] = field(repr=False)

    @property
    def changes(self) -> list[diff.FileDiff]:
        """The files that differ, secrets masked."""
        before = _texts({path: now for path, (now, _after) in self.files.items()})
        return diff.of_files(before, _texts({path: after for path, (_now, after) in self.files.items()}), self.masked)


def _texts(contents: Mapping[str, bytes | None]) -> dict[str, str]:
    known = {path: content for path, content in contents.items() if content is not None}
    return {path: content.decode(errors="surrogateescape") for path, content in known.items()}
