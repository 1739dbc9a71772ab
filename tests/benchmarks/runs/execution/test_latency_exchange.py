"""The latencies of intervals, handed over and merged."""

import uuid

import pytest

from benchmarks.analysis.latency.histogram import percentile
from benchmarks.runs.execution import latency_exchange
from benchmarks.runs.execution.latency_exchange import Latencies, percentiles
from panel.quickstart.ports import free_port

pytestmark = pytest.mark.usefixtures("few_are_enough")


def test_percentiles_are_those_of_all_latencies():
    east, west = list(range(1_000, 91_000, 1_000)), list(range(91_000, 101_000, 1_000))
    found = percentiles([Latencies(east), Latencies(west)])
    both = sorted(east + west)
    assert found == {f"latency_p{share}_ms": percentile(both, share) / 1000 for share in (50, 95, 99)}


def test_a_latency_counts_as_many_transactions_as_it_stands_for():
    logged_fully, logged_by_the_tenth = Latencies([1_000] * 100, 1.0), Latencies([9_000] * 90, 0.1)
    assert percentiles([logged_fully, logged_by_the_tenth])["latency_p50_ms"] == 9.0
    assert percentiles([Latencies([1_000] * 100), Latencies([9_000] * 90)])["latency_p50_ms"] == 1.0


def test_of_nothing_there_are_none():
    assert percentiles([]) == percentiles([Latencies([])]) == {}


def test_without_redis_nothing_is_handed_over_and_nothing_breaks(settings):
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    part = uuid.uuid4()
    latency_exchange.publish(part, 1, 2, Latencies([1, 2, 3]))
    assert latency_exchange.receive(part, 1, [2, 3]) == [None, None]
