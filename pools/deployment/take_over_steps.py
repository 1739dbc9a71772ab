"""Interface of what a kind of pooler does to be taken over and let go; its steps lie in its folder beside this."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from pools.deployment import diff
from pools.errors import IllegalTransition, NotThere
from pools.models import Pool, Pooler, TakeOver

POOL, KEPT = "pool", "kept"  # what an entry becomes


class Proposal(Protocol):
    """The fate of one entry: it becomes a `pool`, unsaved, or it is kept as it is `because`."""

    @property
    def pool(self) -> Pool | None: ...
    @property
    def because(self) -> str: ...


class ReadFile(Protocol):
    """A file that the pooler reads."""

    @property
    def path(self) -> str: ...
    @property
    def role(self) -> str: ...


class Plan(Protocol):
    """The whole take-over; with any of `blockers` it can't be asked for."""

    @property
    def proposals(self) -> Sequence[Proposal]: ...
    @property
    def blockers(self) -> list[str]: ...
    @property
    def files(self) -> Sequence[ReadFile]: ...
    @property
    def main_file(self) -> str: ...
    @property
    def changes(self) -> list[diff.FileDiff]: ...

    def preview(self) -> dict[str, Any]:
        """Return `{entries, files, changes, blockers}` for the API, without secrets."""


class Release(Protocol):
    """The effects of letting go: `pools` become entries again, `lost` ones exist only in the panel's file."""

    @property
    def pools(self) -> list[Pool]: ...
    @property
    def lost(self) -> list[Pool]: ...
    @property
    def edited(self) -> list[str]: ...
    @property
    def changes(self) -> list[diff.FileDiff]: ...
    @property
    def blockers(self) -> list[str]: ...


class TakeOverSteps(ABC):
    """The steps of a kind; `names` are those of the entries that may become pools, None for all that can."""

    @abstractmethod
    def planned(
        self, pooler: Pooler, config_file: str, names: Collection[str] | None = None
    ) -> AbstractContextManager[Plan]:
        """Plan the take-over, with the consoles still open. Raises `IllegalTransition`, `PoolerUnreachable`."""

    @abstractmethod
    def request(
        self, pooler: Pooler, config_file: str = "", names: Collection[str] | None = None, author: User | None = None
    ) -> TakeOver:
        """Queue a take-over that has nothing against it. Raises `IllegalTransition`, `PoolerUnreachable`."""

    @abstractmethod
    def queue(
        self, pooler: Pooler, config_file: str, names: Collection[str] | None = None, author: User | None = None
    ) -> TakeOver:
        """Queue a take-over that was previewed. Raises `IllegalTransition`."""

    @abstractmethod
    def resume(self, pooler: Pooler) -> None:
        """Begin a take-over that waits, or undo one that a dead worker left behind."""

    @abstractmethod
    def preview_release(self, pooler: Pooler) -> Release:
        """Return the effects of letting go. Raises `IllegalTransition` for a pooler that was not taken over."""

    @abstractmethod
    def request_release(self, pooler: Pooler, author: User | None = None) -> TakeOver:
        """Queue the release. Raises `IllegalTransition` with what has to be done before."""

    @abstractmethod
    def resume_release(self, pooler: Pooler) -> None:
        """Let a pooler go that is to be, from the beginning where a worker died."""


def active_take_over(pooler: Pooler) -> TakeOver:
    """Return the take-over that a pooler is managed by. Raises `IllegalTransition`."""
    taken = pooler.take_overs.holding().first()
    if taken is None:
        text = _("pooler %(pooler)s was not taken over, so there is nothing to go back to")
        raise IllegalTransition(text % {"pooler": pooler})
    return taken


def backup(pooler: Pooler) -> TakeOver:
    """Return the latest take-over with original files, whether or not it still holds. Raises `NotThere`."""
    taken = pooler.take_overs.exclude(sealed_originals="").first()
    if taken is None:
        raise NotThere(_("pooler %(pooler)s was never taken over") % {"pooler": pooler})
    return taken
