"""Tables that a broken-off preparation left: described, and marked as the panel's, to be replaced without confirmation.

They are told apart by what existed before: the panel's are those that came since, and those that were its own already.
What it never touched, above all other people's tables, stays unmarked.
"""

import logging

from django.utils.translation import gettext as _

from benchmarks.models import Dataset, Run
from benchmarks.models.conditions import TablesBefore
from benchmarks.targets import datasets
from benchmarks.targets.datasets import DatasetFacts
from core.lib.crypto import SealBroken
from core.lib.errors import DomainError
from pools.models import Cluster

log = logging.getLogger(__name__)
MOST_CHECKS = 8  # for the tables that are made, at lines of progress: the first ones come before them


def before(run: Run) -> TablesBefore:
    """Return the oids of the tables that exist before the program starts, and whether they are the panel's.

    Raises `ClusterUnreachable` (of the pools app) and `Refused`.
    """
    if run.cluster is None:
        return {"oids": [], "ours": False}
    found = datasets.facts(run.cluster, run.database, datasets.tables_made(run))
    return {"oids": list(found.oids), "ours": found.ours}


def made(run: Run) -> list[int]:
    """Return the oids of the tables that a preparation made anew, by which they are known where nothing marks them.

    None as long as one of them is not there or is still the one of before, and where the server does not answer.
    """
    existing = run.conditions.get("tables_before")
    if run.cluster is None or existing is None:
        return []
    wanted = datasets.tables_made(run)
    try:
        oids = datasets.oids(run.cluster, run.database, wanted)
    except (DomainError, SealBroken) as error:
        log.warning("run %s: the tables that it makes could not be noted: %s", run.pk, error)
        return []
    return oids if len(oids) == len(wanted.names) and not set(oids).intersection(existing["oids"]) else []


def leave(run: Run) -> str:
    """Mark what a broken-off preparation left and describe it; empty where nothing was touched, or no answer came."""
    existing = run.conditions.get("tables_before")
    if run.cluster is None or existing is None:
        return ""
    try:
        found = datasets.facts(run.cluster, run.database, datasets.tables_made(run))
        if found.tables_exist and set(found.oids) == set(existing["oids"]):
            return ""
        _remember(run, run.cluster, found, existing)
    except (DomainError, SealBroken) as error:
        log.warning("run %s: what it left could not be marked: %s", run.pk, error)
        return ""
    return _format(found, existing) % {"kind": found.wanted.kind, "database": run.database}


def _remember(run: Run, cluster: Cluster, found: DatasetFacts, existing: TablesBefore) -> None:
    here = {"cluster": cluster, "database": run.database, "engine": run.engine}
    known = Dataset.objects.filter(**here)
    if not found.tables_exist:
        known.delete()
        return
    dataset = known.first() or Dataset(**here)
    oids = dict(zip(found.tables, found.oids, strict=True))
    of_it = [name for name, oid in oids.items() if existing["ours"] or oid not in existing["oids"]]
    datasets.mark(cluster, run.database, found.table_owner, of_it, dataset.unfinished_marker)
    dataset.scale, dataset.run = found.wanted.size, run
    dataset.save()


def _format(found: DatasetFacts, existing: TablesBefore) -> str:
    if found.tables_exist and found.scale:
        return _("the %(kind)s tables of %(database)s are unfinished now: prepare again")
    if found.tables_exist:
        return _("the %(kind)s tables of %(database)s are empty now: prepare again")
    if existing["oids"]:
        return _("the %(kind)s tables of %(database)s are gone now: prepare again")
    return _("the %(kind)s tables of %(database)s are not there: prepare again")
