"""Round trips to real endpoints before a load."""

import logging
import time
from contextlib import ExitStack

import psycopg
import pytest

from benchmarks.models import Run, Status
from benchmarks.targets import resolve, round_trip
from panel.quickstart.servers import free_port
from pools.clusters import connect, endpoints
from pools.models import Cluster, Pool
from tests.live.benchmarks.conftest import Submit, execute

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("in_this_process"),
]


def test_ten_round_trips_are_told_with_the_login_before_them(submit: Submit) -> None:
    found = round_trip.round_trips(resolve.endpoint_of(submit()))
    assert list(found) == ["count", "min_ms", "avg_ms", "max_ms", "connect_ms"]
    assert found["count"] == 10
    assert 0 < found["min_ms"] <= found["avg_ms"] <= found["max_ms"]
    assert found["connect_ms"] > found["min_ms"]


def test_a_transaction_pool_is_pinged_without_prepared_statements(pool: Pool) -> None:
    assert round_trip.round_trips(endpoints.of_pool(pool))["max_ms"] > 0


def test_a_pool_that_others_have_filled_is_given_up_soon(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_trip, "ANSWER_WITHIN_S", 1)
    with ExitStack() as held:
        for _ in range(pool.size):
            session = held.enter_context(connect.connect_endpoint(endpoints.of_pool(pool)))
            session.execute("BEGIN; SELECT 1")
        began = time.monotonic()
        with pytest.raises(psycopg.Error):
            round_trip.round_trips(endpoints.of_pool(pool))
        assert time.monotonic() - began < 30


def test_a_run_whose_endpoint_can_not_be_pinged_says_in_its_programs_words_why(
    submit: Submit, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    run, password = submit(), cluster.admin_password
    cluster.port = free_port()
    cluster.admin_password = password  # given anew, as a changed address asks for
    cluster.save()
    with caplog.at_level(logging.WARNING):
        ended = execute(Run.objects.get(pk=run.pk))
    assert ended.status == Status.FAILED
    assert "refused" in ended.error
    assert "ping" not in ended.conditions
    assert "can't be pinged" in caplog.text
