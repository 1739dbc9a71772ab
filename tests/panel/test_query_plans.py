"""Lists of large installations are counted, passed over and searched in an index: held by EXPLAIN, not by time."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models import Count, Q, QuerySet, Sum
from django.utils import timezone

from benchmarks.api.runs import PARTS
from benchmarks.forms.run_filter import RunFilter
from benchmarks.models import Purpose, Run, Sample, Status
from benchmarks.models.runs import SEARCHED
from core.rest.filters import having
from pools.models import Cluster, Pool, Pooler, PoolState
from tests.live.standbys import until

pytestmark = pytest.mark.django_db


def newest() -> QuerySet[Any]:
    return Run.objects.top_level().of_people().order_by("-number")


def left_out() -> QuerySet[Any]:
    found = RunFilter({}, Run.objects.top_level())
    assert found.is_valid()
    return found.left_out()


ROWS = 20_000
SEARCH_INDEX = (
    "COVERING INDEX runs_searched_sqlite" if connection.vendor == "sqlite" else "Index Only Scan using runs_searched"
)
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
    "the keys of runs that are searched for": (
        lambda: newest().filter(having("x", SEARCHED) | Q(number=7)).values("pk")[:26],
        SEARCH_INDEX,
    ),
    "the number of runs that are searched for": (
        lambda: newest().order_by().filter(having("x", SEARCHED)).values("parent").annotate(count=Count("*")),
        SEARCH_INDEX,
    ),
    "errors that are searched for": (
        lambda: Run.objects.filter(error__gt="", error__icontains="x").order_by().values("pk"),
        "runs_with_errors",
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
    "the failed transactions of a run": (
        lambda: Sample.objects.filter(run="0" * 32, failed__gt=0).order_by().values("run").annotate(sum=Sum("failed")),
        "samples_with_failures",
    ),
    "the last sample of a run": (
        lambda: Sample.objects.filter(run="0" * 32).order_by("-attempt", "-seq")[:1],
        "autoindex" if connection.vendor == "sqlite" else "one_sample_of_a_seq",  # SQLite names it itself
    ),
}
if connection.vendor == "sqlite":
    QUERIES["pools by state"] = (
        lambda: Pool.objects.wanted().of_people().order_by().values("state").annotate(count=Count("*")),
        "COVERING INDEX pools_by_state",
    )
else:  # which it reads for the others depends on what the tables hold
    SOUGHT = ("searched for", "that have not ended", "failed transactions", "experiments that")
    QUERIES = {name: query for name, query in QUERIES.items() if any(words in name for words in SOUGHT)}


@pytest.fixture(scope="module", autouse=True)
def many_rows(django_db_setup, django_db_blocker):
    """Fill the tables that PostgreSQL chooses by, which reads an empty one in any way; SQLite always takes an index."""
    if connection.vendor != "postgresql":
        yield
        return
    with django_db_blocker.unblock():
        cluster = Cluster.objects.create(name="zq-plans", host="192.0.2.1", admin_user="zq")
        pooler = Pooler.objects.create(name="zq-plans", host="192.0.2.1", admin_user="zq")
        Run.objects.bulk_create(a_row(number, cluster) for number in range(1, ROWS))
        Pool.objects.bulk_create(
            Pool(name=f"p{at}", cluster=cluster, pooler=pooler, size=1) for at in range(ROWS // 10)
        )
        whole = Run.objects.get(number=1)
        Sample.objects.bulk_create(Sample(run=whole, attempt=1, seq=at, t=at) for at in range(ROWS // 4))
        until(all_is_visible, within_s=60)
        yield
        for model in (Sample, Run, Pool, Pooler, Cluster):
            model.objects.all().delete()


def all_is_visible() -> bool:
    """Vacuum; whether that marked the pages of the runs, which it does not while an older transaction goes on."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("SELECT relallvisible > relpages * 0.9 FROM pg_class WHERE relname = 'benchmarks_run'")
        return cursor.fetchone()[0]


def a_row(number: int, cluster: Cluster) -> Run:
    """One of many runs, of which some failed; few have not ended."""
    status = Status.FAILED if number % 20 == 0 else Status.SUCCEEDED
    finished = None if number % 1000 == 0 else timezone.now()
    named = {"target_label": f"shop_{number % 97} on zq-plans", "database": "shop", "name": f"nightly {number}"}
    error = "connection refused" if status == Status.FAILED else ""
    wide = {"evidence": {"settings": "x" * 1_500}}
    return Run(number=number, cluster=cluster, status=status, error=error, finished_at=finished, **named, **wide)


@pytest.mark.parametrize("name", QUERIES)
def test_the_plan_reads_an_index(name):
    query, index = QUERIES[name]
    plan = query().explain()
    assert index in plan, plan
