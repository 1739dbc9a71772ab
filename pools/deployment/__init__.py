"""Applies a pooler's desired state and verifies it, or rolls back; the same steps for every kind of pooler."""

from pools.deployment.attempt import Attempt, reset_to_pending, waiting_poolers, why_nothing_to_apply
from pools.deployment.deferred_reloads import catch_up_all
from pools.deployment.pipeline import Busy, Drifted, apply_pooler

__all__ = [
    "Attempt",
    "Busy",
    "Drifted",
    "LockLost",
    "apply_pooler",
    "catch_up_all",
    "reset_to_pending",
    "waiting_poolers",
    "why_nothing_to_apply",
]
