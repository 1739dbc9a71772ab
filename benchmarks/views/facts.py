"""What the chosen database holds of pgbench's tables, asked live for the forms of runs and datasets."""

from dataclasses import dataclass

from benchmarks import datasets
from benchmarks.datasets import WRITING_SCRIPTS, DatasetFacts
from benchmarks.engines.pgbench.initialize import estimated_bytes
from benchmarks.forms import DatasetForm, RunForm
from pools.errors import ClusterUnreachable
from pools.models import Cluster


@dataclass(frozen=True)
class ShownFacts:
    """What the form says of its target: the facts or why there are none, and whether the name must be typed."""

    cluster: Cluster
    database: str
    found: DatasetFacts | None
    error: str = ""
    must_confirm: bool = False
    estimate_bytes: int | None = None
    fits: bool | None = None


def facts_of(form: RunForm | DatasetForm) -> ShownFacts | None:
    """Facts on what the form has chosen by now; None while nothing is chosen."""
    if form.choice is None:
        return None
    cluster, database = form.choice
    try:
        found = datasets.facts(cluster, database)
    except ClusterUnreachable as error:
        return ShownFacts(cluster, database, None, str(error))
    options = form.cleaned_data.get("options", {})
    takes = estimated_bytes(options["scale"], options["fillfactor"]) if "scale" in options else None
    return ShownFacts(
        cluster,
        database,
        found,
        must_confirm=_must_confirm(form, found),
        estimate_bytes=takes,
        fits=None if takes is None else found.fits(takes),
    )


def _must_confirm(form: RunForm | DatasetForm, found: DatasetFacts) -> bool:
    if isinstance(form, DatasetForm):
        return found.protected or (found.tables_exist and not found.ours)
    return found.protected and form.cleaned_data.get("builtin") in WRITING_SCRIPTS
