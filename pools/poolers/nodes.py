"""The backends that a pooler has of its own, and what lets queries go to one of them or keeps them away."""

from dataclasses import dataclass
from typing import Protocol

from django.db.models import Model

from pools.models import Pooler

UP = ("up", "waiting")


@dataclass(frozen=True)
class Node:
    """One backend; texts are the program's own, columns that a release lacks are empty.

    `weight` is its share of the reads in percent; `delay` has its unit where the release tells it, else bytes.
    """

    number: int
    host: str
    port: int
    status: str
    server_status: str
    role: str
    weight: str
    reads: str
    delay: str
    changed_at: str

    @property
    def is_up(self) -> bool:
        """True if queries go there."""
        return self.status in UP


class NodeAdmin(Protocol):
    """The functions of a kind that has backends of its own; a module of its folder has them."""

    def of_pooler(self, pooler: Pooler) -> list[Node]:
        """List its backends; raises `PoolerUnreachable`."""

    def applied(self, pooler: Pooler) -> list[Node]:
        """List its backends as the last apply wrote them, for when it refuses logins: all may be detached."""

    def change(self, pooler: Pooler, number: int, verb: str, author: Model | None = None) -> None:
        """`attach` or `detach` a backend; raises `Rejected` with the program's words, `PoolerUnreachable`."""

    def list_after_change(self, pooler: Pooler) -> list[Node]:
        """List its backends once it answers again; as the last apply wrote them where that lasts longer."""

    def risk_of_detaching(self, nodes: list[Node], number: int) -> str:
        """Return the effect on clients of detaching this backend; empty where there is none."""
