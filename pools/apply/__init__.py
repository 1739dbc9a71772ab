"""Brings a pooler's wishes live and proves it, or puts back what was; the same for every kind of pooler."""

from pools.apply.attempts import Attempt, LockLost
from pools.apply.catching_up import catch_up_all
from pools.apply.runs import Busy, Drifted, apply_pooler
from pools.apply.wanted import try_again, waiting_poolers, why_nothing
from pools.revisions.folders import last_applied, live_files

__all__ = [
    "Attempt",
    "Busy",
    "Drifted",
    "LockLost",
    "apply_pooler",
    "catch_up_all",
    "last_applied",
    "live_files",
    "try_again",
    "waiting_poolers",
    "why_nothing",
]
