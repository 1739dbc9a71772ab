"""What a broken-off preparation left of the tables: told in words, and marked as the panel's to be replaced unasked.

Which tables are its work is known by what stood there before: its own are those that came since, and those that were
the panel's already. What it never touched, other people's tables above all, stays without a mark.
"""

import logging
from typing import Any

from benchmarks.errors import BenchmarksError
from benchmarks.models import Dataset, Run
from benchmarks.targets import datasets
from benchmarks.targets.datasets import DatasetFacts
from panel.lib.crypto import SealBroken
from pools.errors import PoolsError
from pools.models import Cluster

log = logging.getLogger(__name__)

BEFORE = "tables_before"  # in a run's conditions


def before(run: Run) -> dict[str, Any]:
    """The tables that are there before the program starts, by their oids, and whether they are the panel's.

    Raises `ClusterUnreachable` (of the pools app) and `Refused`.
    """
    if run.cluster is None:
        return {"oids": [], "ours": False}
    found = datasets.facts(run.cluster, run.database, datasets.tables_made(run))
    return {"oids": list(found.oids), "ours": found.ours}


def leave(run: Run) -> str:
    """Mark what a broken-off preparation left, and tell it; empty where nothing was touched or can be asked."""
    stood = run.conditions.get(BEFORE)
    if run.cluster is None or stood is None:
        return ""
    try:
        found = datasets.facts(run.cluster, run.database, datasets.tables_made(run))
        if found.tables_exist and set(found.oids) == set(stood["oids"]):
            return ""
        _remember(run, run.cluster, found, stood)
    except (PoolsError, BenchmarksError, SealBroken) as error:
        log.warning("run %s: what it left could not be marked: %s", run.pk, error)
        return ""
    return f"{found.wanted.called} of {run.database} are {_in_words(found, stood)}: prepare again"


def _remember(run: Run, cluster: Cluster, found: DatasetFacts, stood: dict[str, Any]) -> None:
    here = {"cluster": cluster, "database": run.database, "engine": run.engine}
    known = Dataset.objects.filter(**here)
    if not found.tables_exist:
        known.delete()
        return
    dataset = known.first() or Dataset(**here)
    oids = dict(zip(found.tables, found.oids, strict=True))
    of_it = [name for name, oid in oids.items() if stood["ours"] or oid not in stood["oids"]]
    datasets.mark(cluster, run.database, found.table_owner, of_it, dataset.unfinished_marker)
    dataset.scale, dataset.run = found.wanted.size, run
    dataset.save()


def _in_words(found: DatasetFacts, stood: dict[str, Any]) -> str:
    if found.tables_exist:
        return "unfinished now" if found.scale else "empty now"
    return "gone now" if stood["oids"] else "not there"
