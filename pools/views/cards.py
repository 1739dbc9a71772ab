"""The pools and the latest runs that pages of a cluster, a pooler or a pool list in cards.

Only the columns are read that a card shows: records hold much more, such as settings, conditions and secrets.
"""

from typing import Any

from django.db.models import QuerySet

from pools.models import Cluster, Pool
from pools.models.pools import PoolQuerySet

RUNS_SHOWN = 6
OF_POOL = ("pooler", "cluster", "name", "database", "state", "state_reason", "mode", "size")
OF_RUN = (
    *("cluster", "pool", "number", "name", "purpose", "target_label"),
    *("options", "status", "error", "summary", "created_at"),
)


def pools_with(above: str, pools: PoolQuerySet) -> PoolQuerySet:
    """Return those of the pools that stay, for a card that names the `pooler` or the `cluster` of each."""
    return pools.wanted().select_related(above).only(*OF_POOL, f"{above}__name")


def latest_runs(subject: Cluster | Pool) -> QuerySet[Any]:
    """Return the latest runs on a cluster or through a pool, without the parts of distributed ones."""
    return subject.runs.filter(parent=None).only(*OF_RUN)[:RUNS_SHOWN]
