"""Where the API is asked to put a record: the team that it is to belong to, and those it is to be shared with."""

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from core.accounts.access import Access
from core.accounts.models import OwnedByTeam, Team
from core.accounts.people import ownership

if TYPE_CHECKING:
    from rest_framework.request import Request


@dataclass(frozen=True)
class Placement:
    """The wanted team, and the wanted others of those that the caller sees; None: as it is."""

    team: Team | None
    shared_with: list[Team] | None

    @classmethod
    def out_of(cls, values: MutableMapping[str, Any]) -> "Placement":
        """Take the fields `team` and `shared_with` out of the values of a body."""
        return cls(values.pop("team", None), values.pop("shared_with", None))

    @property
    def is_asked(self) -> bool:
        """True if the body has one of the fields."""
        return self.team is not None or self.shared_with is not None

    def team_of_new(self, request: "Request", operation: str) -> Team:
        """Return the team of something new; raises `InvalidValues` and `PermissionDenied`."""
        team = ownership.team_of_new(request, self.team, operation)
        if self.shared_with:
            Access.of(request).require("team.members", team)
        return team

    def check(self, request: "Request", owned: OwnedByTeam) -> None:
        """Raise `PermissionDenied` where the caller may not put the record there, `InvalidValues` where it can't be."""
        access, seen = Access.of(request), self._seen_shares(request, owned)
        if self.team is not None and self.team.pk != owned.team_id:
            access.require("team.members", owned)
            access.require("team.members", self.team)
            ownership.refuse_namesake(owned, self.team)
        elif self.shared_with is not None and set(self.shared_with) != seen:
            access.require("team.members", owned)

    def put(self, request: "Request", owned: OwnedByTeam) -> None:
        """Put the record there; what it is shared with beyond the caller's sight stays."""
        shares = set(owned.shared_with.all())
        if self.shared_with is not None:
            shares = (shares - self._seen_shares(request, owned)) | set(self.shared_with)
        ownership.place(owned, self.team or cast("Team", owned.team), shares)

    @staticmethod
    def _seen_shares(request: "Request", owned: OwnedByTeam) -> set[Team]:
        access = Access.of(request)
        return set(access.visible(owned.shared_with.all()))
