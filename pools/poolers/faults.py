"""Why a configuration does not go live, and whether its pools or their servers are at fault."""

from collections.abc import Mapping
from typing import Self
from uuid import UUID

from django.utils.translation import ngettext

from pools.errors import ApplyFailed


class Rejected(ApplyFailed):
    """The configuration can't go live; `pools` are those that cause it, none where that is unknown.

    With `settings`, the pooler's own settings, users or files cause it, and only they are rolled back.
    """

    def __init__(self, reason: str, *pools: UUID, settings: bool = False) -> None:
        super().__init__(reason)
        self.reasons, self.settings = dict.fromkeys(pools, reason), settings

    @property
    def pools(self) -> frozenset[UUID]:
        """The pools that cause it."""
        return frozenset(self.reasons)

    @classmethod
    def each(cls, reasons: Mapping[UUID, str]) -> Self:
        """Reject several pools, each for a reason of its own."""
        first, others = next(iter(reasons.values())), len(set(reasons.values())) - 1
        text = ngettext(
            "%(first)s; and %(others)d more such fault", "%(first)s; and %(others)d more such faults", others
        )
        fault = cls(text % {"first": first, "others": others} if others else first)
        fault.reasons = dict(reasons)
        return fault


class Unproved(Exception):
    """A pool can't be tested now, since it is full or shut; the message says which."""


Route = tuple[UUID, str]  # a cluster, and the role of its servers (Pool.target)


class ClusterBusy(ApplyFailed):
    """Servers refuse all logins for now, or do not answer; `reasons` by route.

    Their pools are not at fault, and are tried again later. `of_servers` tells whether a login to the servers shows
    that it is over; it does not where the pooler itself is full.
    """

    def __init__(self, reasons: Mapping[Route, str], *, of_servers: bool = True) -> None:
        super().__init__("; ".join(dict.fromkeys(reasons.values())))
        self.reasons, self.of_servers = dict(reasons), of_servers
