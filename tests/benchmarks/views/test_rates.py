"""The page that changes the rate of a running load, and the same by the API."""

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.engines.pgbench.stages import EXCLUDED
from benchmarks.models import Run, Status
from benchmarks.runs.submission import rate
from tests.benchmarks.records import a_finished_run, a_run, the_options
from tests.benchmarks.schedules.records import DUE, a_schedule
from tests.pages import page_of
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db


def running():
    return a_run(status=Status.RUNNING, cluster=a_cluster(), options=the_options(duration=30))


def test_the_page_asks_for_a_rate_and_the_worker_is_told(staff):
    run = running()
    url = f"/runs/{run.pk}/rate/"
    assert f'href="{url}"' in page_of(staff.get(f"/runs/{run.pk}/"))
    assert "Change the rate" in page_of(staff.get(url))
    wrong = staff.post(url, {"rate": "-5"})
    assert 'value="-5"' in page_of(wrong)
    assert wrong.context["form"].errors["rate"]
    assert staff.post(url, {"rate": "250"}).url == f"/runs/{run.pk}/"
    run.refresh_from_db()
    assert run.requested_rate == 250
    staff.post(url, {"rate": ""})
    run.refresh_from_db()
    assert run.requested_rate == 0


def test_a_run_that_ended_meanwhile_keeps_its_rate(staff):
    run = a_finished_run()
    url = f"/runs/{run.pk}/rate/"
    assert f'href="{url}"' not in page_of(staff.get(f"/runs/{run.pk}/"))
    answer = staff.post(url, {"rate": "250"})
    assert answer.status_code == 409
    assert "its load is not running" in page_of(answer)
    assert Run.objects.get(pk=run.pk).requested_rate is None


def reason_of(run):
    return rate.obstacle(Run.objects.get(pk=run.pk))


@pytest.mark.parametrize("name", [name for name in EXCLUDED if name != "rate"])
def test_what_no_stage_has_keeps_the_rate_so_that_the_run_can_be_repeated(name):
    run = a_run(status=Status.RUNNING, cluster=a_cluster(), options=the_options(duration=30) | {name: 1})
    assert reason_of(run)


def test_what_a_schedule_repeats_keeps_its_rate():
    template = running()
    schedule = a_schedule(run=template)
    assert "compares it with other nights" in reason_of(template)
    Run.objects.update(status=Status.SUCCEEDED)
    night = running()
    schedule.starts.create(due_at=DUE, claimed_at=DUE, run=night)
    assert "compares it with other nights" in reason_of(night)


@pytest.mark.parametrize(
    ("elapsed_s", "interval_s", "is_taken"),
    [(10, 1, True), (26, 1, True), (28, 1, False), (5, 10, True), (21, 10, False), (5, 60, False)],
)
def test_an_interval_and_some_of_the_load_have_to_be_left(elapsed_s, interval_s, is_taken):
    run = running()
    run.options["progress"] = interval_s
    run.load_began_at = timezone.now() - timedelta(seconds=elapsed_s)
    run.save()
    assert bool(reason_of(run)) is not is_taken


def test_the_time_left_is_that_of_the_present_stage(staff):
    stages = [{"duration_s": 30, "clients": 1}, {"duration_s": 30, "clients": 1, "rate": 100.0}]
    run = a_run(status=Status.RUNNING, cluster=a_cluster(), options=the_options(stages=stages, duration=60))
    run.summary = {"stages": [{"began_s": 0.0}, {"began_s": 30.2}]}
    run.load_began_at = timezone.now() - timedelta(seconds=40)
    run.save()
    assert reason_of(run) == ""
    rate.change(run, 250)
    run.refresh_from_db()
    assert (run.requested_rate, run.requested_rate_stage) == (250, 2)
    run.load_began_at = timezone.now() - timedelta(seconds=59)
    run.save()
    assert reason_of(run) == "its present stage ends too soon for another rate: change it in a later one"


def test_the_rate_that_a_load_has_is_not_asked_for_again(staff):
    run = running()
    url = f"/runs/{run.pk}/rate/"
    answer = staff.post(url, {"rate": ""})
    assert (answer.status_code, "it has this rate already" in page_of(answer)) == (409, True)
    staff.post(url, {"rate": "250"})
    assert staff.post(url, {"rate": ""}).status_code == 302  # takes back what waits


def test_the_api_changes_it_too(staff):
    run = running()
    url = f"/api/v1/runs/{run.pk}/rate/"
    for body, status in (({"rate": 20}, 200), ({"rate": 0}, 400), ({}, 400), ({"rate": None}, 200)):
        assert staff.post(url, body, content_type="application/json").status_code == status, body
    assert Run.objects.get(pk=run.pk).requested_rate == 0
    Run.objects.update(status=Status.SUCCEEDED)
    assert staff.post(url, {"rate": 20}, content_type="application/json").status_code == 409
