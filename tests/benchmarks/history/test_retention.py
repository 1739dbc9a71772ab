"""Old runs are forgotten, and only those."""

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.history import retention
from benchmarks.models import Run, Sample

pytestmark = pytest.mark.django_db


def a_run(days: float, **changes: object) -> Run:
    ended = {"status": "succeeded", "finished_at": timezone.now() - timedelta(days=days)}
    return Run.objects.enqueue(**(ended | changes))


def numbers() -> list[int]:
    return list(Run.objects.order_by("number").values_list("number", flat=True))


def test_all_are_kept_where_no_days_are_set(settings):
    settings.RUN_DAYS = 0
    a_run(10_000)
    assert (retention.forget_old(), numbers()) == (0, [1])


def test_old_ones_go_with_their_rows_and_the_rest_stays(settings):
    settings.RUN_DAYS = 30
    old = a_run(31)
    Sample.objects.create(run=old, attempt=1, seq=1, t=1.0)
    a_run(29)
    a_run(99, is_baseline=True)
    a_run(99, status="running", finished_at=None)
    whole = a_run(29)
    a_run(31, parent=whole)
    assert (retention.forget_old(), numbers()) == (1, [2, 3, 4, 5, 6])
    assert not Sample.objects.exists()


def test_a_whole_goes_with_its_parts(settings):
    settings.RUN_DAYS = 30
    whole = a_run(31)
    a_run(31, parent=whole)
    assert (retention.forget_old(), numbers()) == (1, [])
