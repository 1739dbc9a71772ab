"""Old runs are forgotten, and only those."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.models import Run, Sample
from benchmarks.results import retention

pytestmark = pytest.mark.django_db


def a_run(days: float, **changes: object) -> Run:
    ended = {"status": "succeeded", "finished_at": timezone.now() - timedelta(days=days)}
    return Run.objects.enqueue(**(ended | changes))


def numbers() -> list[int]:
    return list(Run.objects.order_by("number").values_list("number", flat=True))


def test_all_are_kept_where_no_days_are_set(settings):
    settings.RUN_DAYS = 0
    a_run(10_000)
    assert (retention.delete_old_runs(), numbers()) == (0, [1])


def test_old_ones_go_with_their_rows_and_the_rest_stays(settings):
    settings.RUN_DAYS = 30
    old = a_run(31)
    Sample.objects.create(run=old, attempt=1, seq=1, t=1.0)
    a_run(29)
    a_run(99, is_baseline=True)
    a_run(99, status="running", finished_at=None)
    whole = a_run(29)
    a_run(31, parent=whole)
    assert (retention.delete_old_runs(), numbers()) == (1, [2, 3, 4, 5, 6])
    assert not Sample.objects.exists()


def test_a_whole_goes_with_its_parts(settings):
    settings.RUN_DAYS = 30
    whole = a_run(31)
    a_run(31, parent=whole)
    assert (retention.delete_old_runs(), numbers()) == (1, [])


def test_the_rows_of_a_long_run_go_in_steps(settings, monkeypatch):
    settings.RUN_DAYS = 30
    monkeypatch.setattr(retention, "ROWS_AT_ONCE", 2)
    whole, kept = a_run(31), a_run(29)
    for run in (whole, a_run(31, parent=whole), kept):
        Sample.objects.bulk_create(Sample(run=run, attempt=1, seq=seq, t=float(seq)) for seq in range(5))
    with CaptureQueriesContext(connection) as queries:
        assert retention.delete_old_runs() == 1
    steps = [one["sql"] for one in queries if one["sql"].startswith('DELETE FROM "benchmarks_sample"')]
    assert len([sql for sql in steps if '"id" <' in sql]) == 2 + 2  # two a run; the fifth row goes with the run
    assert (numbers(), set(Sample.objects.values_list("run", flat=True))) == ([2], {kept.pk})
