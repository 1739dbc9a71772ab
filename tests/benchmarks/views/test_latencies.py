"""Latencies on the pages of runs: the histogram of one, repeats counted together, statements side by side."""

import uuid
from typing import Any

import pytest
from django.test import Client

from benchmarks.models import Run, Status, Validity
from tests.benchmarks.analysis.latency.test_report import logged
from tests.benchmarks.records import a_finished_run, a_run, the_options
from tests.pages import page_of as text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_are_enough")]


def page_of(client: Client, *runs: Run) -> str:
    """The page of one run, or that which compares several."""
    if len(runs) == 1:
        return text_of(client.get(f"/runs/{runs[0].pk}/"))
    return text_of(client.get("/runs/compare/", {"run": [str(run.pk) for run in runs]}))


def statement(words: str, latency_ms: float, **figures: Any) -> dict[str, Any]:
    return {"script": 1, "statement": words, "latency_ms": latency_ms, "failures": None, "retries": None} | figures


def test_the_page_of_a_run_draws_its_latencies_and_says_what_they_rest_on(staff: Client):
    page = page_of(staff, logged(a_finished_run(), [1_000] * 30 + [4_000], rate=0.5))
    assert "From 31 logged transactions (50.00% of all). A p99 from fewer than 10,000 transactions is rough." in page
    assert page.count("<rect ") == 7
    assert page.count("<line ") == 5
    assert "p99.9" in page
    assert "scheduled start" not in page


def test_percentiles_stand_with_the_histogram_where_there_is_one(staff: Client):
    summary = {"tps": 9.0, "latency_p95_ms": 1.5, "latency_samples": 4}
    assert "Latency, 95th percentile" not in page_of(staff, logged(a_finished_run(summary=summary), [1_500] * 4))
    assert "Latency, 95th percentile" in page_of(staff, a_finished_run(summary=summary))


def test_under_a_rate_the_page_says_from_when_latency_counts(staff: Client):
    options = the_options(rate=50)
    page = page_of(staff, logged(a_finished_run(options=options), [1_000]))
    assert "Latency counts from the scheduled start; service time excludes the wait for it." in page


def test_a_run_that_goes_on_or_logged_nothing_has_no_such_part(staff: Client):
    assert "latencies-title" not in page_of(staff, a_run(status=Status.RUNNING, attempt=1))
    assert "latencies-title" not in page_of(staff, a_finished_run())


def test_failures_by_kind_and_the_schedule_are_among_the_figures(staff: Client):
    summary = {"tps": 9.0, "serialization_failures": 3, "deadlock_failures": 1, "retries": 7, "skipped": 12}
    summary |= {"lag_avg_ms": 1.5, "lag_max_ms": 30.5, "service_p99_ms": 2.5, "latency_p99_9_ms": 44.5}
    page = page_of(staff, a_finished_run(summary=summary))
    for words in ("Failed: serialization", "Failed: deadlock", "Retries", "Skipped as too late"):
        assert words in page
    for words in ("Schedule lag, average", "Service time, 99th percentile", "Latency, 99.9th percentile"):
        assert words in page


def test_repeats_are_counted_together_where_runs_are_compared(staff: Client):
    group = uuid.uuid4()
    first, second = (logged(a_finished_run(group=group), [us] * 6_000) for us in (1_000, 3_000))
    page = page_of(staff, first, second)
    assert "Merged repeats" in page
    assert "12,000" in page
    assert "Merged repeats" not in page_of(staff, a_finished_run(), a_finished_run())


def test_statements_stand_side_by_side_with_their_differences(staff: Client):
    first = a_finished_run(statements=[statement("UPDATE <a>;", 2.0, failures=0, retries=0)])
    second = a_finished_run(statements=[statement("UPDATE <a>;", 3.0, failures=4, retries=5)])
    page = page_of(staff, first, second)
    assert "UPDATE &lt;a&gt;;" in page
    assert "+1.000 · ×1.50</span>" in page
    assert "4 failed</span>" in page
    assert "5 retries</span>" in page


def test_statements_of_runs_that_are_not_valid_are_not_judged(staff: Client):
    first = a_finished_run(statements=[statement("SELECT 1;", 2.0)])
    second = a_finished_run(statements=[statement("SELECT 1;", 3.0)], validity=Validity.SUSPECT)
    page = page_of(staff, first, second)
    assert "+1.000 · ×1.50" in page
    assert "worse</span>" not in page


def test_a_table_of_several_scripts_names_them(staff: Client):
    one = a_finished_run(statements=[statement("SELECT 1;", 2.0), statement("SELECT 2;", 2.0, script=2)])
    assert '<th class="pd-number">Script</th>' in page_of(staff, one)
    assert '<th class="pd-number">Script</th>' not in page_of(staff, a_finished_run(statements=[statement("A;", 1.0)]))
