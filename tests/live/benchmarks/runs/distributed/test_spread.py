"""Runs over three generators, by three worker processes with addresses of their own and a real server."""

import os
import signal
import time
from collections.abc import Callable, Iterable

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from benchmarks.models import ACTIVE, FINAL, Run, Status, Validity
from benchmarks.runs.execution import reaper
from benchmarks.runs.live import events as live_events
from benchmarks.runs.live import follower
from benchmarks.runs.submission import cancel, dispatch
from panel.quickstart.servers import PostgresServer
from tests.live.benchmarks.conftest import ended, has_samples, homes_of, pgbenches, wait_for
from tests.live.benchmarks.runs.distributed.conftest import NAMES, FarWorker
from tests.live.benchmarks.runs.distributed.namespaces import Network

pytestmark = pytest.mark.django_db(transaction=True)
Spread = Callable[..., Run]
CLIENT_ADDRESSES = "SELECT DISTINCT host(client_addr) FROM pg_stat_activity WHERE application_name LIKE %s"


def is_ordered(percentiles: Iterable[float | None]) -> bool:
    """Whether those that are shown grow."""
    shown = [one for one in percentiles if one is not None]
    return shown == sorted(shown)


def parts_of(run: Run) -> list[Run]:
    return list(run.parts.order_by("number"))


def loads_of(run: Run) -> list[int]:
    return [pid for part in parts_of(run) for pid in pgbenches(part)]


def assert_no_load_is_left(run: Run, postgres: PostgresServer) -> None:
    """No process, no folder and no session of any part."""
    deadline = time.monotonic() + 30
    while loads_of(run):
        assert time.monotonic() < deadline, "a pgbench is left"
        time.sleep(0.05)
    reaper.remove_stale_homes()
    assert [homes_of(one) for one in (run, *parts_of(run))] == [[]] * (1 + len(parts_of(run)))
    with postgres.connect() as session:
        for part in parts_of(run):
            assert session.execute(CLIENT_ADDRESSES, [part.application_name]).fetchall() == []


def test_three_start_on_one_mark_and_their_figures_add_up(
    spread: Spread, postgres: PostgresServer, net: Network
) -> None:
    # a part fills a block of its log in some seconds: its intervals are complete only when it has ended
    run = spread(percentiles=True, rate=90)
    assert [part.options["clients"] for part in parts_of(run)] == [3, 2, 2]
    running = wait_for(run, has_samples(2))
    with postgres.connect() as session:
        seen = {
            part.generator: session.execute(CLIENT_ADDRESSES, [part.application_name]).fetchall()
            for part in parts_of(running)
        }
    assert seen == {name: [(net.address_of(name),)] for name in NAMES}
    done = wait_for(run, ended)
    parts = parts_of(done)
    assert [(part.status, part.error) for part in parts] == [(Status.SUCCEEDED, "")] * 3
    assert (done.status, done.error, done.exit_code) == (Status.SUCCEEDED, "", 0)
    assert done.generator == "east, north, west"
    start = done.conditions["start"]
    print(f"namespaces: {net.is_own}; mark spread {start['spread_ms']} ms, clock within {start['clock_error_ms']} ms")
    assert start["spread_ms"] < 250
    assert {part.start_at for part in parts} == {done.start_at}
    assert done.summary["transactions"] == sum(part.summary["transactions"] for part in parts)
    assert done.summary["tps"] == pytest.approx(sum(part.summary["tps"] for part in parts))
    assert done.summary["clients"] == 7
    assert done.latency_histogram.count == sum(part.latency_histogram.count for part in parts)
    assert is_ordered(done.summary.get(f"latency_{name}_ms") for name in ("p50", "p95", "p99"))
    assert_samples_are_sums(done, parts)
    spread_out = list(done.samples.values_list("latency_p50_ms", "latency_p95_ms", "latency_p99_ms"))
    assert all(p50 for p50, _p95, _p99 in spread_out), spread_out  # a p99 of few transactions is not shown
    assert all(is_ordered(one) for one in spread_out), spread_out
    assert done.validity == (Validity.VALID if all(p.validity == Validity.VALID for p in parts) else Validity.SUSPECT)


def assert_samples_are_sums(whole: Run, parts: list[Run]) -> None:
    """Each second of the whole holds what its parts said of it; a last one that a part left out is missing."""
    merged = list(whole.samples.all())
    assert len(merged) >= 3
    by_second = [{round(sample.t): sample for sample in part.samples.all()} for part in parts]
    for sample in merged:
        of_parts = [each[round(sample.t)] for each in by_second]
        assert sample.tps == pytest.approx(sum(one.tps for one in of_parts), rel=1e-6, abs=0.01)
        assert sample.failed == sum(one.failed for one in of_parts)
        low, high = min(one.latency_ms for one in of_parts), max(one.latency_ms for one in of_parts)
        assert low - 0.001 <= sample.latency_ms <= high + 0.001


def test_watchers_of_the_whole_see_merged_samples_live(spread: Spread) -> None:
    run = spread()
    events = async_to_sync(collect)(run)
    done = wait_for(run, ended)
    described = [event.id for event in events if event.name == "sample"]
    assert described == [live_events.event_id(sample.attempt, sample.seq) for sample in done.samples.all()]
    assert [event.payload["status"] for event in events if event.name == "end"] == ["succeeded"]


async def collect(run: Run) -> list[live_events.Event]:
    return [event async for events in follower.follow(run.pk) for event in events]


def test_a_killed_generator_makes_the_whole_incomplete_and_leaves_nothing(
    spread: Spread, three: dict[str, FarWorker], postgres: PostgresServer
) -> None:
    run = spread(duration=60)
    running = wait_for(run, has_samples(2))
    leader = leader_of(running, three)
    victim = next(name for name in NAMES if name != leader)
    three[victim].kill(signal.SIGKILL)
    killed_at = time.monotonic()
    lost = wait_for(run, ended, seconds=60)
    print(f"after kill -9 of {victim} (led by {leader}): over in {time.monotonic() - killed_at:.1f} s")
    assert (lost.status, lost.validity) == (Status.FAILED, Validity.INCOMPLETE)
    assert lost.error.startswith(f"generator {victim}: its part ended (lost)")
    parts = {part.generator: part for part in parts_of(lost)}
    assert parts.pop(victim).status == Status.LOST
    assert {part.status for part in parts.values()} == {Status.CANCELLED}
    assert all("which could not go on; figures" in part.error for part in parts.values())
    assert lost.summary == {}
    assert lost.samples.count() >= 2
    assert_no_load_is_left(lost, postgres)


def leader_of(run: Run, workers: dict[str, FarWorker]) -> str:
    """The generator whose worker leads the run, by what its log says."""
    found = [name for name, worker in workers.items() if f"leads run {run.pk}" in worker.log]
    assert len(found) == 1, found
    return found[0]


def test_a_killed_leader_leaves_a_lost_run_and_no_part_goes_on(
    spread: Spread, three: dict[str, FarWorker], postgres: PostgresServer
) -> None:
    run = spread(duration=60)
    running = wait_for(run, has_samples(2))
    leader = leader_of(running, three)
    three[leader].kill(signal.SIGKILL)
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now())
    Run.objects.filter(parent=run, generator=leader).update(lease_until=timezone.now())
    reaper.reap()
    lost = wait_for(run, ended)
    assert (lost.status, lost.validity) == (Status.LOST, Validity.INCOMPLETE)
    assert lost.error.startswith("the worker that coordinated it was lost")
    for part in parts_of(lost):
        wait_for(part, _ended_or_reaped)
    assert_no_load_is_left(lost, postgres)


def _ended_or_reaped(run: Run) -> bool:
    """Look as beat does, again and again: a child of the killed worker may renew its lease once more."""
    reaper.reap()
    return ended(run)


def test_a_part_killed_alone_ends_the_others_at_once(spread: Spread, postgres: PostgresServer) -> None:
    run = spread(duration=60)
    running = wait_for(run, has_samples(2))
    victim = parts_of(running)[1]
    os.kill(pgbenches(victim)[0], signal.SIGKILL)
    killed_at = time.monotonic()
    failed = wait_for(run, ended)
    assert time.monotonic() - killed_at < 30
    assert (failed.status, failed.validity) == (Status.FAILED, Validity.INCOMPLETE)
    assert failed.error.startswith("generator north: its part ended (failed)")
    assert_no_load_is_left(failed, postgres)


def test_a_cancel_of_the_whole_or_of_a_part_ends_all(spread: Spread, postgres: PostgresServer) -> None:
    for choose in (lambda run: run, lambda run: parts_of(run)[2]):
        run = spread(duration=60)
        running = wait_for(run, has_samples(1))
        cancel.cancel(choose(running))
        done = wait_for(run, ended)
        assert (done.status, done.validity) == (Status.CANCELLED, Validity.INCOMPLETE)
        assert {part.status for part in parts_of(done)} == {Status.CANCELLED}
        assert_no_load_is_left(done, postgres)


def test_delivered_many_times_it_starts_once(spread: Spread) -> None:
    run = spread()
    for _ in range(5):
        for one in (run, *parts_of(run)):
            dispatch.dispatch(one)
    running = wait_for(run, has_samples(1))
    assert len(loads_of(running)) == 3
    done = wait_for(run, ended)
    assert (done.status, done.attempt) == (Status.SUCCEEDED, 1)
    assert [part.attempt for part in parts_of(done)] == [1, 1, 1]


def test_runs_over_the_same_generators_follow_each_other(spread: Spread) -> None:
    first, second = spread(duration=2), spread("west", "east", duration=2)
    done = wait_for(second, ended, seconds=30)
    first.refresh_from_db()
    assert (first.status, done.status) == (Status.SUCCEEDED, Status.SUCCEEDED)
    assert first.finished_at <= done.started_at


@pytest.mark.slow
def test_a_generator_that_stops_before_the_start_is_named(
    spread: Spread, three: dict[str, FarWorker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is alive by its heartbeat when the run is submitted, and takes nothing up."""
    with monkeypatch.context() as held:
        held.setattr(dispatch, "dispatch", lambda run, to="": True)
        run = spread()
    three["west"].kill(signal.SIGKILL)
    dispatch.dispatch(run, "east")
    done = wait_for(run, ended, seconds=60)
    assert (done.status, done.validity) == (Status.FAILED, Validity.INCOMPLETE)
    assert "west" in done.error
    assert done.load_began_at is None
    assert not Run.objects.filter(parent=run).exclude(status__in=FINAL).exists()
    assert not Run.objects.filter(status__in=ACTIVE).exists()
