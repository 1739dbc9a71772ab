"""Lists of large installations are counted, passed over and searched in an index: held by EXPLAIN, not by time."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models import Count, Q, QuerySet

from benchmarks.api.runs import PARTS
from benchmarks.forms.run_filter import RunFilter
from benchmarks.models import Purpose, Run, Sample
from pools.models import Pool, PoolState

pytestmark = pytest.mark.django_db


def newest() -> QuerySet[Any]:
    return Run.objects.top_level().of_people().order_by("-number", "pk")


def left_out() -> QuerySet[Any]:
    found = RunFilter({}, Run.objects.top_level())
    assert found.is_valid()
    return found.left_out()


# The query, and an index that its plan must name.
QUERIES: dict[str, tuple[Callable[[], QuerySet[Any]], str]] = {
    "the first page of runs": (lambda: newest()[:25], "runs_"),
    "the keys of a late page of runs": (lambda: newest().values_list("pk")[50_000:50_025], "runs_"),
    "the number of runs": (lambda: newest().order_by().values("parent").annotate(count=Count("*")), "runs_"),
    "runs by state": (
        lambda: newest().exclude(purpose=Purpose.PREPARE).order_by().values("status").annotate(Count("pk")),
        "runs_of_people_by_status",
    ),
    "runs that have not ended": (
        lambda: Run.objects.unfinished().order_by().values("status", "generator"),
        "runs_unfinished",
    ),
    "failed runs": (lambda: newest().filter(status="failed")[:25], "runs_of_"),
    "runs that are searched for": (
        lambda: newest().order_by().filter(Q(name__icontains="x") | Q(database__icontains="x")).values("number"),
        "runs_searched",
    ),
    "runs of the clusters that a member sees": (
        lambda: newest().order_by().filter(external=None, cluster__in=["0" * 32, "1" * 32]).values("status"),
        "runs_of_clusters",
    ),
    "the parts of runs": (lambda: PARTS.filter(parent__in=["0" * 32, "1" * 32]), "runs_in_order"),
    "the first page of pools": (lambda: Pool.objects.order_by("name", "pk")[:50], "pools_by_name"),
    "the last page of pools": (lambda: Pool.objects.order_by("-name", "-pk").values("pk")[:50], "pools_by_name"),
    "the oldest pool that is live": (
        lambda: Pool.objects.wanted().of_people().filter(state=PoolState.APPLIED).order_by("created_at")[:1],
        "pools_by_state",
    ),
    "the baseline of a target": (
        lambda: Run.objects.filter(cluster="0" * 32, pool=None, is_baseline=True).order_by(),
        "runs_baselines",
    ),
    "the runs of experiments that a list leaves out": (
        lambda: left_out().order_by().values("parent").annotate(Count("pk")),
        "experiment_id>?" if connection.vendor == "sqlite" else "experiment_id >= ",
    ),
    "the last sample of a run": (
        lambda: Sample.objects.filter(run="0" * 32).order_by("-attempt", "-seq")[:1],
        "autoindex" if connection.vendor == "sqlite" else "one_sample_of_a_seq",  # SQLite names it itself
    ),
}
if connection.vendor == "sqlite":  # PostgreSQL reads the whole table for all of its pools, or another index
    QUERIES["pools by state"] = (
        lambda: Pool.objects.wanted().of_people().order_by().values("state").annotate(count=Count("*")),
        "COVERING INDEX pools_by_state",
    )


@pytest.fixture(autouse=True)
def indexes_pay():
    """Let PostgreSQL choose as if tables were large, which are empty here; SQLite always does."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")


@pytest.mark.parametrize("name", QUERIES)
def test_the_plan_reads_an_index(name):
    query, index = QUERIES[name]
    plan = query().explain()
    assert index in plan, plan
