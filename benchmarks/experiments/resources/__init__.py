"""What an experiment makes for itself: roles, a database, pools and settings profiles; and how it removes them.

A row is written before the thing is made and closed after it is gone, so that a crash at any moment leaves nothing
that nobody knows of. All of it carries the experiment's number in its name.
"""

from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.errors import BenchmarksError
from benchmarks.experiments.resources import databases, pools, profiles, roles
from benchmarks.experiments.resources.needed import (
    AUTH_METHODS,
    MD5,
    RequiredResource,
    cluster_of,
    database_of,
    kind_of,
    loads_existing,
    maker_of,
    name_of,
    needs,
    pool_key,
    profile_key,
    role_of,
)
from benchmarks.experiments.resources.pools import (
    is_being_applied,
    note_smaller_size,
    pending_pools,
    pool_of,
    retry_refused_pools,
    size_within_budget,
)
from benchmarks.models import Experiment, ExperimentResource, ResourceKind
from core.lib.errors import DomainError
from pools.errors import InvalidValues, NotThere

__all__ = [
    "AUTH_METHODS",
    "MD5",
    "RequiredResource",
    "cluster_of",
    "create",
    "database_of",
    "is_being_applied",
    "kind_of",
    "loads_existing",
    "maker_of",
    "name_of",
    "needs",
    "note_smaller_size",
    "pending_pools",
    "pool_key",
    "pool_of",
    "profile_key",
    "remove_all",
    "retry_refused_pools",
    "role_of",
    "size_within_budget",
]

MAKERS = {
    ResourceKind.ROLE: roles.make,
    ResourceKind.DATABASE: databases.make,
    ResourceKind.PROFILE: profiles.make,
    ResourceKind.POOL: pools.make,
}
REMOVERS = {
    ResourceKind.ROLE: roles.remove,
    ResourceKind.DATABASE: databases.remove,
    ResourceKind.PROFILE: profiles.remove,
    ResourceKind.POOL: pools.remove,
}


def create(experiment: Experiment, need: RequiredResource) -> ExperimentResource:
    """Make it unless it was made; raises `PoolsError` or `BenchmarksError` where that is refused."""
    row, is_new = experiment.resources.get_or_create(kind=need.kind, key=need.key, defaults={"name": need.name})
    if row.made_at is None:
        try:
            row.record = MAKERS[need.kind](experiment, need)
        except (InvalidValues, BenchmarksError):
            if is_new or not _exists(experiment, need):  # else an earlier attempt of ours, cut short, made it
                raise
        row.made_at = timezone.now()
        row.save(update_fields=["record", "made_at"])
    return row


def _exists(experiment: Experiment, need: RequiredResource) -> bool:
    """Return whether there is something of that name; of an earlier attempt it is ours."""
    if need.kind == ResourceKind.ROLE:
        return roles.exists(experiment, need)
    return need.kind == ResourceKind.DATABASE and databases.exists(experiment, need)


def remove_all(experiment: Experiment) -> list[str]:
    """Remove what is left, the last made first; return why what is still there could not go yet, in sentences."""
    reasons: list[str] = []
    for row in experiment.resources.filter(removed_at=None).order_by("-pk"):
        try:
            gone = REMOVERS[ResourceKind(row.kind)](experiment, row)
            reason = "" if gone else _("%(resource)s is still being removed") % {"resource": row}
        except NotThere:
            reason = ""
        except DomainError as error:
            reason = _("%(resource)s could not be removed: %(reason)s") % {"resource": row, "reason": error}
        _close(row, reason)
        reasons += [reason] if reason else []
    return reasons


def _close(row: ExperimentResource, reason: str) -> None:
    row.error, row.removed_at = reason, None if reason else timezone.now()
    row.save(update_fields=["error", "removed_at"])
