"""sysbench, HTTP and warm-ups over three generators, by worker processes with addresses of their own."""

from collections.abc import Callable

import pytest

from benchmarks.engines.sysbench.tables import tables_of
from benchmarks.errors import InvalidOptions
from benchmarks.models import Run, Status, Validity
from benchmarks.runs.submission.submit import Placement
from benchmarks.targets import datasets
from pools.models import Cluster
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.conftest import ended, execute, wait_for
from tests.live.benchmarks.runs.distributed.conftest import NAMES, FarWorker
from tests.live.conftest import APP_ROLE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("few_are_enough")]
TABLES = {"tables": 1, "table_size": 1_000}
Start = Callable[..., Run]


@pytest.fixture
def start(cluster: Cluster, dataset: str, three: dict[str, FarWorker]) -> Start:
    """A run over all three that has ended."""
    target = {"cluster": str(cluster.pk), "database": dataset}

    def prepare(engine: str, **options: object) -> None:
        asked = {"target": target, "options": options, "engine": engine, "purpose": "prepare"}
        made = execute(submit_one(**asked, author=None, confirm=dataset))
        assert made.status == Status.SUCCEEDED, made.error

    wanted = tables_of(TABLES, purpose="load")
    assert wanted is not None
    if not datasets.facts(cluster, dataset, wanted).complete:
        prepare("sysbench", **TABLES)
        prepare("http", rows=1_000)

    def start_run(engine: str, **options: object) -> Run:
        role = {"user": APP_ROLE} if "scripts" in options else {}  # a script of users is refused to a superuser
        asked = {"target": target | role, "options": options, "engine": engine, "author": None}
        return wait_for(submit_one(**asked, place=Placement(NAMES)), ended, seconds=40)

    return start_run


def parts_of(run: Run) -> list[Run]:
    assert (run.status, run.error) == (Status.SUCCEEDED, ""), run.error
    return list(run.parts.order_by("number"))


def assert_seconds_add_up(run: Run) -> None:
    """Each second of the whole is the sum of that of its parts."""
    merged = list(run.samples.all())
    by_second = [{round(sample.t): sample for sample in part.samples.all()} for part in parts_of(run)]
    assert len(merged) >= 2
    for sample in merged:
        of_parts = [each[round(sample.t)] for each in by_second]
        assert sample.tps == pytest.approx(sum(one.tps for one in of_parts), rel=0.01, abs=0.5)
        assert sample.failed == sum(one.failed for one in of_parts)


def assert_figures_add_up(run: Run) -> None:
    """Counts are sums, and percentiles those of all latencies together."""
    parts = [part.summary for part in parts_of(run)]
    for name in ("transactions", "failed", "clients"):
        assert run.summary[name] == sum(part[name] for part in parts)
    assert run.summary["tps"] == pytest.approx(sum(part["tps"] for part in parts))
    averages = [part["latency_avg_ms"] for part in parts]
    assert min(averages) <= run.summary["latency_avg_ms"] <= max(averages)
    assert run.latency_histogram.count == run.summary["latency_samples"] == run.summary["transactions"]
    names = [f"latency_{name}_ms" for name in ("p50", "p90", "p95", "p99", "p99_9")]
    ordered = [run.summary[name] for name in names if name in run.summary]  # a p99 of few is not there
    assert ordered == sorted(ordered)
    medians = [part["latency_p50_ms"] for part in parts]
    assert 0.99 * min(medians) <= run.summary["latency_p50_ms"] <= 1.01 * max(medians)
    least = min(("valid", "suspect", "incomplete").index(part.validity) for part in parts_of(run))
    assert run.validity != Validity.INCOMPLETE or least == 2


def test_sysbench_adds_up_its_histograms_merged(start: Start) -> None:
    run = start("sysbench", script="oltp_read_only", threads=4, rate=120, duration=3, **TABLES)
    assert [part.options["threads"] for part in parts_of(run)] == [2, 1, 1]
    assert_seconds_add_up(run)
    assert_figures_add_up(run)
    assert run.summary["queries"] == sum(part.summary["queries"] for part in parts_of(run))
    assert not any(sample.latency_p95_ms for sample in run.samples.all())  # of parts, it says nothing of the whole


def test_events_of_sysbench_are_those_of_all(start: Start) -> None:
    run = start("sysbench", script="oltp_point_select", threads=3, events=301, **TABLES)
    assert run.summary["transactions"] == 301
    assert [part.summary["transactions"] for part in parts_of(run)] == [101, 100, 100]


def test_a_rate_is_kept_by_all_together_and_refused_where_it_would_be_no_limit(start: Start) -> None:
    run = start("sysbench", script="oltp_point_select", threads=3, rate=30, duration=4, **TABLES)
    assert run.summary["tps"] == pytest.approx(30, rel=0.4)
    with pytest.raises(InvalidOptions, match="leaves one of 3 generators without any"):
        start("sysbench", script="oltp_point_select", threads=3, rate=2, duration=2, **TABLES)
    assert Run.objects.filter(purpose="load").count() == 4


def test_http_adds_up_with_a_service_beside_each_load(start: Start) -> None:
    run = start("http", connection="normal", concurrency=4, duration=3)
    assert [part.options["concurrency"] for part in parts_of(run)] == [2, 1, 1]
    assert_seconds_add_up(run)
    assert_figures_add_up(run)
    assert run.summary["errors"] == {}
    assert run.client_version.startswith("Python 3.")
    spread_out = list(run.samples.values_list("latency_p50_ms", "latency_p95_ms", "latency_p99_ms"))
    shown = [[one for one in sample if one is not None] for sample in spread_out]  # a p99 of few is not
    assert all(one == sorted(one) for one in shown), spread_out
    assert any(shown), spread_out


@pytest.mark.parametrize(
    ("engine", "clients", "options"),
    [
        ("http", "concurrency", {"connection": "normal"}),
        (
            "pgbench",
            "clients",
            {"scripts": [{"text": "SELECT 1;"}], "threads": 1, "rate": 300, "percentiles": True, "sampling_rate": 0.5},
        ),
    ],
)
def test_the_leader_warms_up_for_all(start: Start, engine: str, clients: str, options: dict[str, object]) -> None:
    run = start(engine, duration=2, warm_up=1, **options, **{clients: 3})
    assert [part.options[clients] for part in parts_of(run)] == [1, 1, 1]
    assert run.conditions["warm_up"]["seconds"] >= 1
    assert run.summary["transactions"] == sum(part.summary["transactions"] for part in parts_of(run))
