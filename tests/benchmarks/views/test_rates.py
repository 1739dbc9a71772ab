"""The page that changes the rate of a running load, and the same by the API."""

import pytest

from benchmarks.models import Run, Status
from tests.benchmarks.records import a_finished_run, a_run, the_options
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


def test_the_api_changes_it_too(staff):
    run = running()
    url = f"/api/v1/runs/{run.pk}/rate/"
    for body, status in (({"rate": 20}, 200), ({"rate": 0}, 400), ({}, 400), ({"rate": None}, 200)):
        assert staff.post(url, body, content_type="application/json").status_code == status, body
    assert Run.objects.get(pk=run.pk).requested_rate == 0
    Run.objects.update(status=Status.SUCCEEDED)
    assert staff.post(url, {"rate": 20}, content_type="application/json").status_code == 409
