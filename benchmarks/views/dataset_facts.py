"""Checks the chosen database for an engine's tables, for the forms of runs and datasets."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from benchmarks.engines import engine
from benchmarks.engines.base import Tables
from benchmarks.errors import Refused
from benchmarks.forms.runs import DatasetForm, RunForm
from benchmarks.models import Purpose
from benchmarks.targets import datasets
from benchmarks.targets.datasets import DatasetFacts
from pools.errors import ClusterUnreachable
from pools.models import Cluster


@dataclass(frozen=True)
class ShownFacts:
    """Facts on the chosen database, or the error that prevented them; sizes in bytes.

    `must_confirm`: the database's name has to be typed. `fits` is None if no size is asked for or known.
    """

    cluster: Cluster | None
    database: str
    found: DatasetFacts | None
    error: str = ""
    must_confirm: bool = False
    estimate_bytes: int | None = None
    fits: bool | None = None

    @property
    def contended(self) -> str:
        """Warning that the clients would wait for each other's row locks; empty if the dataset is large enough."""
        found = self.found
        if found is None or not found.complete or not found.scale or found.scale >= found.wanted.contended_below:
            return ""
        needed = found.wanted.contended_below
        text = _(
            "%(clients)s clients would wait for each other's rows at %(size)s: "
            "use at most %(most)s, or prepare %(larger)s."
        )
        numbers = {"clients": f"{needed:,}", "most": f"{found.scale:,}"}
        return text % {**numbers, "size": found.sized, "larger": found.wanted.of_size(needed)}


def facts_of(form: RunForm | DatasetForm) -> ShownFacts | None:
    """Check the database that the form has chosen; None while nothing is chosen."""
    if form.choice is None:
        return None
    cluster, database = form.choice
    options = form.cleaned_data.get("options", {})
    tables: Tables | None = engine(form.engine_name).tables_of(options, purpose=form.purpose)
    if cluster is None:
        writes = bool(options.get("scripts") or (tables and tables.writes))
        return ShownFacts(None, database, None, must_confirm=writes)
    if tables is None:
        return ShownFacts(cluster, database, None, must_confirm=cluster.protected and bool(options.get("scripts")))
    try:
        found = datasets.facts(cluster, database, tables)
    except (ClusterUnreachable, Refused) as error:
        return ShownFacts(cluster, database, None, str(error))
    takes = tables.takes_bytes if options and form.purpose == Purpose.PREPARE and not tables.dropped else None
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
    return found.protected and bool(found.wanted.writes or form.cleaned_data.get("options", {}).get("scripts"))
