"""One apply to a pooler: what it writes, the console that is open for it, and the attempt that it reports to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pools.models import PoolSet, WaitingSetting

Files = Mapping[str, bytes | None]


@dataclass(frozen=True)
class Draft:
    """A configuration ready to go live; `texts` go into the revision, a rollback restores `before`.

    `changed` pools (keys) are rendered anew; of these, `moved` ones lead to other servers, or by another login.
    `settings_changed`: the pooler's own settings, users or files are rendered anew. `gone` files are to be removed.
    """

    texts: dict[str, str] = field(repr=False)
    before: Files = field(repr=False)
    changed: frozenset[str]
    moved: frozenset[str]
    settings_changed: bool = False
    gone: frozenset[str] = frozenset()

    @property
    def files(self) -> Files:
        """The bytes to write; None removes a file, after all others are written."""
        gone: dict[str, bytes | None] = dict.fromkeys(self.gone)
        return {name: text.encode(errors="surrogateescape") for name, text in self.texts.items()} | gone


class Progress(Protocol):
    """The apply that a session works for; both methods raise when its lease was lost: then nothing may be written."""

    def step(self, word: str, detail: str = "") -> None:
        """Record a step for the page."""

    def renew(self) -> None:
        """Renew the lease during a long operation."""


class Session(Protocol):
    """An open console of one pooler, kept for one apply: it survives a lockout that a bad file would cause."""

    version_text: str

    def draft(self, pools: PoolSet, settled: Mapping[str, str], trust_disk: bool) -> Draft:
        """Render the pools; those not pending keep their entry of `settled`. Raises `Rejected`, `ApplyFailed`.

        A rollback restores the files on disk, or `settled` where a dead worker may have written to them.
        """

    def preflight(self, draft: Draft, progress: Progress) -> None:
        """Check without touching the pooler whether the draft can work. Raises `Rejected`."""

    def go_live(self, files: Files, progress: Progress) -> None:
        """Write the files and make the pooler read them. Raises `ApplyFailed`, `PoolerUnreachable`."""

    def read_back(self, files: Files) -> None:
        """Compare the pooler's live settings with the files, and log in to its console anew. Raises `Rejected`."""

    def log_in(self, draft: Draft, progress: Progress) -> None:
        """Log in through each changed pool to its database. Raises `Rejected`."""

    def processes_read_back(self) -> list[int]:
        """Return the numbers of the processes, from 1, that the panel keeps main files of and that were read back.

        Empty where it keeps none; called after `read_back`.
        """

    def start_processes(self, progress: Progress) -> None:
        """Start the processes that are asked for and don't run, where the panel may; a step says which, or why not."""

    def restarts_needed(self) -> list[WaitingSetting]:
        """Return `{"name", "live", "wanted"}` of each changed setting that the program reads only at its start.

        Called after `go_live`; such a setting is no failure. Raises `PoolerUnreachable`.
        """
