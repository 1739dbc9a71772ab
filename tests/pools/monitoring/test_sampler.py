"""Asking consoles once for all who watch."""

import queue
import threading
import time
from dataclasses import replace

import pytest

from pools.errors import PoolerUnreachable
from pools.models import PoolerKind
from pools.monitoring import redis_store, sampler
from pools.poolers import KINDS
from pools.poolers.console_sample import ConsoleSample, Counters, PoolFigures
from tests.pools.records import a_pooler

FIGURES = {"web": PoolFigures(cl_active=3, cl_waiting=1)}


@pytest.fixture
def questions(monkeypatch):
    """The names of the poolers whose console was asked, in order; a pooler named down does not answer."""
    names = []

    def answer(pooler):
        names.append(pooler.name)
        if pooler.name == "down":
            raise PoolerUnreachable("pooler down can't be reached")
        time.sleep({"slow": 0.5, "late": 2}.get(pooler.name, 0))
        return ConsoleSample(FIGURES, {"web": Counters(queries=100 * len(names))})

    monkeypatch.setitem(vars(KINDS[PoolerKind.PGBOUNCER]), "sample", answer)
    return names


def test_many_watchers_cost_one_question(db, questions):
    pooler = a_pooler(name="edge")
    assert [sampler.latest(pooler).figures for _ in range(3)] == [FIGURES] * 3
    assert questions == ["edge"]


def test_watchers_who_come_at_once_cost_one_question(db, questions):
    pooler = a_pooler(name="slow")
    watchers = [threading.Thread(target=sampler.latest, args=[pooler]) for _ in range(8)]
    for watcher in watchers:
        watcher.start()
    for watcher in watchers:
        watcher.join()
    assert questions == ["slow"]


def test_an_old_answer_is_asked_anew_and_rates_lie_between_the_two(db, questions, monkeypatch):
    monkeypatch.setattr(sampler, "FRESH_S", 0.1)
    pooler = a_pooler(name="edge")
    first = sampler.latest(pooler)
    time.sleep(0.2)
    second = sampler.latest(pooler)
    assert questions == ["edge", "edge"]
    assert first.rates == {}
    assert second.rates["web"].queries_per_s == pytest.approx(100 / (second.at - first.at))


def test_an_edited_pooler_is_asked_anew(db, questions):
    pooler = a_pooler(name="edge")
    sampler.latest(pooler)
    sampler.latest(pooler.edit(None, port=2))
    assert questions == ["edge", "edge"]


def test_snapshots_of_poolers_that_nobody_asks_for_are_dropped_once_a_minute(db, questions):
    sampler._drops.at = time.monotonic()
    removed, asked, again = (a_pooler(name=name) for name in ("removed", "asked", "again"))
    snapshots = sampler.snapshots_of([removed, asked, again])
    held = {removed.pk, asked.pk, again.pk}
    assert held <= sampler._cache.keys()
    now = snapshots[asked.pk].at
    sampler._cache[removed.pk].snapshot = replace(snapshots[removed.pk], at=now - sampler.UNUSED_S - 1)
    sampler._cache[again.pk].snapshot = replace(snapshots[again.pk], at=now - sampler.DOWN_S)
    sampler.latest(again)
    assert held <= sampler._cache.keys()
    sampler._cache[again.pk].snapshot = replace(snapshots[again.pk], at=now - sampler.DOWN_S)
    sampler._drops.at -= sampler.DROPS_EVERY_S
    sampler.latest(again)
    assert held & sampler._cache.keys() == {asked.pk, again.pk}


def test_a_dead_console_answers_with_its_reason_rests_and_spoils_no_other(db, questions):
    up, down = a_pooler(name="up"), a_pooler(name="down")
    snapshots = sampler.snapshots_of([up, down, up])
    assert snapshots[up.pk].figures == FIGURES
    assert (snapshots[down.pk].figures, snapshots[down.pk].error) == ({}, "pooler down can't be reached")
    time.sleep(sampler.FRESH_S)
    sampler.latest(down)
    assert sorted(questions) == ["down", "up"]


def test_a_late_console_is_not_waited_for(db, questions):
    up, late = a_pooler(name="up"), a_pooler(name="late")
    began = time.monotonic()
    snapshots = sampler.snapshots_of([up, late], within_s=0.8)
    assert time.monotonic() - began < 2
    assert snapshots[up.pk].figures == FIGURES
    assert snapshots[late.pk].error == "the console of pooler late did not answer within 0.8 s"


def test_a_pool_that_nobody_used_yet_is_idle(db, questions):
    snapshot = sampler.latest(a_pooler(name="edge"))
    assert snapshot.reading("never")["cl_active"] == 0
    assert snapshot.whole()["cl_active"] == 3


def test_poolers_that_were_silent_wait_until_all_others_were_asked(db, questions, monkeypatch):
    monkeypatch.setattr(sampler, "AT_ONCE", 1)
    silent, others = a_pooler(name="silent", state="unreachable"), [a_pooler(name="up"), a_pooler(name="edge")]
    sampler.snapshots_of([silent, *others])
    assert questions == ["up", "edge", "silent"]


@pytest.fixture
def written(monkeypatch):
    """What each round trip to Redis stored: the claims that it blocks."""
    trips = queue.SimpleQueue()
    monkeypatch.setattr(redis_store, "claim_or_read", lambda *_asked: (True, 0.0))
    monkeypatch.setattr(redis_store, "_write", lambda kept: trips.put(sorted(one.held for one in kept)))
    return trips


def held_of(*poolers):
    return sorted(f"asked:{pooler.pk}:{pooler.version}" for pooler in poolers)


def test_the_answers_of_a_round_are_stored_together(db, questions, written, monkeypatch):
    monkeypatch.setattr(sampler, "KEPT_EVERY_S", sampler.LONGEST_S)
    poolers = [a_pooler(name=name) for name in ("up", "edge", "down")]
    sampler.snapshots_of(poolers)
    assert written.get_nowait() == held_of(*poolers)
    assert written.empty()


def test_a_late_console_keeps_no_answer_of_another_back_and_its_own_is_stored_once_it_comes(db, questions, written):
    up, late = a_pooler(name="up"), a_pooler(name="late")
    sampler.snapshots_of([up, late], within_s=0.8)
    assert written.get_nowait() == held_of(up)
    assert written.get(timeout=20) == held_of(late)


def test_a_large_answer_does_not_wait_for_others(written, monkeypatch):
    monkeypatch.setattr(redis_store, "MOST_BYTES", 10)
    batch = redis_store.Batch()
    batch.keep_and_hold({"a": "small"}, 9, held="first", held_s=1)
    assert written.empty()
    batch.keep_and_hold({"b": "large"}, 9, held="second", held_s=1)
    assert written.get_nowait() == ["first", "second"]
    batch.end()
    batch.keep_and_hold({"c": ""}, 9, held="third", held_s=1)
    assert written.get_nowait() == ["third"]
