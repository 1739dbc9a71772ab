"""Loads with stages: a pgbench for each, one after the other, with one clock, and figures of each."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections

from benchmarks.models import LatencyHistogram, Run, Status, Validity
from benchmarks.models.options import Stage
from benchmarks.runs.submission import rate
from pools.models import Cluster, Pool
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.conftest import ended, execute, has_samples, pgbenches, wait_for
from tests.live.conftest import APP_ROLE

pytestmark = [
    pytest.mark.usefixtures("few_are_enough", "in_this_process"),
    pytest.mark.django_db(transaction=True),
]


def staged(cluster: Cluster, database: str, stages: list[Stage], **more: Any) -> Run:
    """A queued run with these stages, which logs all transactions."""
    options = {"stages": stages, "sampling_rate": 1, "threads": 1, **more}
    target = {"cluster": str(cluster.pk), "database": database, "user": APP_ROLE}
    return submit_one(target=target, options=options, author=None, is_admin=True)


@contextmanager
def carried_out(run: Run) -> Iterator[None]:
    """Let a thread carry the run out, which ends with the block."""

    def carry_out() -> None:
        try:
            execute(run)
        finally:
            connections.close_all()

    thread = threading.Thread(target=carry_out)
    thread.start()
    try:
        yield
        wait_for(run, ended)
    finally:
        run.request_cancel()
        thread.join(30)


@pytest.mark.parametrize("more", [{}, {"scripts": [{"text": "SELECT 1;\n"}]}], ids=["builtin", "sandboxed"])
def test_each_stage_has_its_figures_and_the_whole_their_sums(
    cluster: Cluster, dataset: str, more: dict[str, Any]
) -> None:
    stages: list[Stage] = [
        {"duration_s": 2, "clients": 1},
        {"duration_s": 3, "clients": 3, "rate": 100},
        {"duration_s": 2, "clients": 2},
    ]
    run = execute(staged(cluster, dataset, stages, **more))
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    found = run.summary["stages"]
    assert [(one["duration_s"], one["clients"], one.get("rate"), one["status"]) for one in found] == [
        (2, 1, None, "succeeded"),
        (3, 3, 100, "succeeded"),
        (2, 2, None, "succeeded"),
    ]
    assert found[1]["tps"] == pytest.approx(100, rel=0.3)
    assert all(one["latency_p50_ms"] <= one["latency_p95_ms"] for one in found)
    assert [("service_p50_ms" in one, "lag_avg_ms" in one) for one in found] == [
        (False, False),
        (True, True),
        (False, False),
    ]
    begins = [one["began_s"] for one in found]
    assert begins[0] == 0
    late = 0.2  # on a busy machine the beginning of a stage is noticed after it
    assert 2 <= begins[1] < 3
    assert 3 - late <= begins[2] - begins[1] < 4
    assert run.summary["transactions"] == sum(one["transactions"] for one in found)
    assert LatencyHistogram.objects.get(run=run).count == run.summary["latency_samples"] == run.summary["transactions"]
    slowest, fastest = (pick(one["tps"] for one in found) for pick in (min, max))
    assert slowest < run.summary["tps"] < fastest
    samples = list(run.samples.all())
    assert [sample.t for sample in samples] == sorted(sample.t for sample in samples)
    assert [sample.lag_ms is not None for sample in samples].count(True) in (2, 3)
    assert all(sample.latency_p50_ms is not None for sample in samples if sample.tps > 10)
    assert run.output.stdout.count("tps = ") == 3
    assert f"{dataset}" in run.command[-1]
    assert (run.options["clients"], run.options["duration"]) == (3, 7)


def test_a_stage_with_a_low_rate_is_logged_whole_and_weighs_by_its_transactions(cluster: Cluster, dataset: str) -> None:
    stages: list[Stage] = [{"duration_s": 2, "clients": 2}, {"duration_s": 2, "clients": 1, "rate": 50}]
    run = execute(staged(cluster, dataset, stages, sampling_rate=None))
    assert run.status == Status.SUCCEEDED, run.error
    fast, slow = run.summary["stages"]
    assert slow["latency_samples"] == slow["transactions"]
    assert fast["latency_samples"] < fast["transactions"] / 1.5
    kept = LatencyHistogram.objects.get(run=run)
    assert kept.count == run.summary["latency_samples"] == fast["latency_samples"] + slow["latency_samples"]
    assert kept.stands_for == pytest.approx(run.summary["transactions"], rel=0.1)
    assert run.summary["latency_p50_ms"] == pytest.approx(fast["latency_p50_ms"], rel=0.1)


def test_a_stage_that_fails_is_named_and_those_before_it_keep_their_figures(cluster: Cluster, dataset: str) -> None:
    stages: list[Stage] = [
        {"duration_s": 1, "clients": 1},
        {"duration_s": 1, "clients": 400},
        {"duration_s": 1, "clients": 1},
    ]
    run = execute(staged(cluster, dataset, stages))
    assert (run.status, run.validity) == (Status.FAILED, Validity.INCOMPLETE)
    assert run.error.startswith("stage 2 of 3: ")
    assert "too many clients" in run.error or "remaining connection slots" in run.error
    first, second = run.summary["stages"]
    assert first["status"] == "succeeded"
    assert first["tps"] > 0
    assert second["status"] == "failed"
    assert "tps" not in second
    assert "tps" not in run.summary


def test_stages_go_through_a_pool_after_a_warm_up_and_are_observed_as_one_load(pool: Pool, dataset: str) -> None:
    stages: list[Stage] = [{"duration_s": 2, "clients": 1}, {"duration_s": 2, "clients": 4, "rate": 200}]
    options = {"stages": stages, "threads": 1, "warm_up": 1, "idle_connections": 2}
    run = execute(submit_one(target={"pool": str(pool.pk)}, options=options, author=None, is_admin=True))
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    first, second = run.summary["stages"]
    assert second["began_s"] - first["duration_s"] < 1
    looks = run.pool_samples.order_by("t")
    assert [looks.filter(t__lt=2).exists(), looks.filter(t__gte=second["began_s"]).exists()] == [True, True]
    assert run.conditions["warm_up"]["tps"] > 0
    assert run.conditions["meanwhile"]


def test_a_stage_that_hangs_is_given_up_at_its_own_deadline(cluster: Cluster, dataset: str) -> None:
    stages: list[Stage] = [{"duration_s": 1, "clients": 1}, {"duration_s": 600, "clients": 1}]
    run = execute(staged(cluster, dataset, stages, scripts=[{"text": "SELECT pg_sleep(60);\n"}]))
    assert run.status == Status.TIMED_OUT
    assert run.error.startswith("stage 1 of 2: it did not end within 11 s")
    assert [one["status"] for one in run.summary["stages"]] == ["timed_out"]


def test_a_run_cancelled_in_its_second_stage_ends_it_and_starts_no_other(cluster: Cluster, dataset: str) -> None:
    stages: list[Stage] = [{"duration_s": 1, "clients": 1}, *[{"duration_s": 60, "clients": 2}] * 2]
    run = staged(cluster, dataset, stages)
    with carried_out(run):
        going_on = wait_for(run, lambda one: len(one.summary.get("stages", [])) == 2 and one.samples.count() >= 2)
        assert going_on.summary["stages"][0]["tps"] > 0
        assert "status" not in going_on.summary["stages"][1]
        assert len(pgbenches(going_on)) == 1
        asked_at = time.monotonic()
        going_on.request_cancel()
        done = wait_for(run, ended)
        assert time.monotonic() - asked_at < 20
    assert (done.status, done.validity) == (Status.CANCELLED, Validity.INCOMPLETE)
    assert done.error == "stage 2 of 3: cancelled; figures are those until then"
    assert [one["status"] for one in done.summary["stages"]] == ["succeeded", "cancelled"]
    assert pgbenches(done) == []


def test_another_rate_is_a_stage_of_the_load_that_goes_on(cluster: Cluster, dataset: str) -> None:
    target = {"cluster": str(cluster.pk), "database": dataset, "user": APP_ROLE}
    options = {"clients": 2, "threads": 1, "duration": 9, "rate": 40, "sampling_rate": 1}
    run = submit_one(target=target, options=options, author=None, is_admin=True)
    with carried_out(run):
        wait_for(run, has_samples(3))
        rate.change(Run.objects.get(pk=run.pk), 200)
        wait_for(run, lambda one: len(one.options.get("stages", [])) == 2)
        wait_for(run, lambda one: one.samples.filter(tps__gt=150).exists())
        rate.change(Run.objects.get(pk=run.pk), None)
    run = Run.objects.get(pk=run.pk)
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    found = run.summary["stages"]
    assert [(one["clients"], one.get("rate"), one["status"]) for one in found] == [
        (2, 40, "succeeded"),
        (2, 200, "succeeded"),
        (2, None, "succeeded"),
    ]
    assert [found[0]["tps"], found[1]["tps"]] == pytest.approx([40, 200], rel=0.4)
    assert found[2]["tps"] > 400
    assert run.options["duration"] == sum(one["duration_s"] for one in run.options["stages"])
    assert 8 <= run.options["duration"] <= 11
    assert run.validity == Validity.VALID or run.reasons
    samples = [sample.t for sample in run.samples.all()]
    assert samples == sorted(samples)
