"""What a rollback would do to the pools and settings that stand, by name, before anybody confirms it."""

from dataclasses import dataclass

from pools.deployment import snapshots
from pools.models import Pooler, Revision, Wishes

MOST_NAMED = 50


@dataclass(frozen=True)
class Part:
    """One thing that it does, to `whom` in names or sentences."""

    heading: str
    whom: list[str]
    hurts: bool = False  # clients lose what they connect to

    @property
    def named(self) -> list[str]:
        """Those that are worth the room."""
        return self.whom[:MOST_NAMED]

    @property
    def more(self) -> int:
        """How many are not named."""
        return len(self.whom) - len(self.named)


def of_rollback(pooler: Pooler, revision: Revision) -> list[Part]:
    """What it removes, brings back and changes, the worst first; empty where it changes nothing."""
    now, then = Wishes.of(snapshots.snapshot(pooler)), Wishes.of(revision.wishes)
    parts = (
        Part("Pools that it removes", [now.pool(pk)["name"] for pk in now.lines if pk not in then.lines], hurts=True),
        Part("Pools that it brings back", [then.pool(pk)["name"] for pk in then.lines if pk not in now.lines]),
        Part("Pools that it changes", list(snapshots.pool_changes(now, then))),
        Part(
            "Settings and files that it changes", list(snapshots.other_changes(now, then)) if "settings" in then else []
        ),
    )
    return [part for part in parts if part.whom]
