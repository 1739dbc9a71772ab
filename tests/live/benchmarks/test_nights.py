"""Nights of a schedule with a moved clock: each due time is one real run, through a real pool, and its trend has it."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils.html import escape

from benchmarks.models import Schedule, ScheduledStart, StartState, Status, Validity
from benchmarks.schedules import due, store, trends
from benchmarks.schedules.store import Terms
from pools.models import Pool
from tests.callers import person
from tests.live.benchmarks.conftest import Submit, execute
from tests.pages import page_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def schedule(submit: Submit, pool: Pool) -> Schedule:
    """Repeats a run through the pool each night; an owner has agreed to loads of its cluster."""
    author = person()
    first = execute(submit(pool=pool))
    schedule = store.create(first, Terms(name="nightly", cron="15 2 * * *", time_zone="Europe/Berlin"), author)
    if schedule.needs_consent:
        store.consent(schedule, author, str(schedule.cluster))
    return schedule


def night(schedule: Schedule, number: int) -> ScheduledStart | None:
    """Return what the due time of that night began, looked for twice as two beats do."""
    schedule.refresh_from_db()
    assert schedule.due_at is not None
    moment = schedule.due_at + timedelta(seconds=number)
    due.start_due(moment)
    due.start_due(moment + timedelta(seconds=1))
    return schedule.starts.first()


@pytest.mark.usefixtures("in_this_process")
def test_each_night_is_one_run_and_their_trend_has_them(schedule: Schedule, pool: Pool, client: Client) -> None:
    for number in range(3):
        start = night(schedule, number)
        assert start is not None
        assert start.run is not None
        assert (start.state, execute(start.run).status) == (StartState.STARTED, Status.SUCCEEDED)
    runs = [start.run for start in schedule.starts.select_related("run")]
    assert [run.pool for run in runs if run] == [pool] * 3
    assert schedule.starts.count() == len({run.pk for run in runs if run}) == 3
    found = trends.of(schedule)
    # A short load on a busy machine may be judged suspect: such a night is no part of the trend, and told.
    valid = {start.pk for start in schedule.starts.filter(run__validity=Validity.VALID)}
    assert {night.start.pk for night in found.nights} == valid
    assert len(found.nights) + len(found.left_out) == 3
    of_tps = [len(trend.nights) for trend in found.trends if trend.metric.key == "tps"]
    assert of_tps == ([len(valid)] if len(valid) > 1 else [])
    assert schedule.author is not None
    client.force_login(schedule.author)
    page = page_of(client.get(f"/schedules/{schedule.pk}/trend/"))
    assert all(one.reason and escape(one.reason) in page for one in found.left_out)
    assert page.count("The level has not moved beyond chance.") == len(found.trends)
