"""Polls poolers' consoles: at most once a second for all viewers, in all processes of the panel."""

import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from uuid import UUID

from django.db import connections
from django.utils.translation import gettext as _

from pools.errors import PoolerUnreachable
from pools.models import Pooler, PoolerState
from pools.monitoring import rates, redis_store
from pools.monitoring.prometheus import Answer, answer_of
from pools.monitoring.rates import Rates, Reading
from pools.monitoring.redis_store import SharingDown
from pools.poolers import KINDS
from pools.poolers.console_sample import ConsoleSample, Counters, PoolFigures, ProcessFigures

FRESH_S = 0.9  # a little less than the viewers' second, so that each of them gets a new one
ROWS_A_S = 3000  # the most rows requested of a console: one with thousands of pools is polled less often
DOWN_S = 5.0  # pause after a failure
LONGEST_S = 20.0  # longest duration of a poll (console.CONNECT_TIMEOUT_S + ANSWER_TIMEOUT_S)
POLLING_S = 5.0  # After this time another process polls too: the first one died, or the console hangs.
OLD_S = 10.0  # the oldest answer to use while another process polls
WAIT_S = 5.0
KEPT_S = 120
DROPS_EVERY_S = 60.0
UNUSED_S = 600.0  # Nobody asks for a snapshot that is so old: its pooler was removed, or is watched elsewhere.
POLL_S, SLOWEST_POLL_S = 0.02, 0.25  # at first, and of a console that does not answer soon
AT_ONCE = 64
KEPT_EVERY_S = 0.1  # while a round of polls lasts
Rows = list[dict[str, object]]
Keep = Callable[..., None]  # as `redis_store.keep_and_hold`
BY_NAME: dict[str, Callable[..., Any]] = {"figures": PoolFigures, "counters": Counters, "rates": Rates}


@dataclass(frozen=True)
class ConsoleSnapshot:
    """A console's answer at a time (Unix, in s): figures, counters and rates by pool name, or why there is none.

    `rows` are those of SHOW by command; `serves_s` is how long the snapshot may be reused.
    """

    at: float = 0.0
    figures: dict[str, PoolFigures] = field(default_factory=dict)
    counters: dict[str, Counters] = field(default_factory=dict)
    rates: dict[str, Rates] = field(default_factory=dict)
    rows: dict[str, Rows] = field(default_factory=dict)
    processes: list[ProcessFigures] = field(default_factory=list)  # see ConsoleSample.processes
    error: str = ""
    serves_s: float = FRESH_S
    clients: int = 0  # see ConsoleSample.clients
    most_clients: int = 0

    @property
    def age_s(self) -> float:
        return time.time() - self.at

    @property
    def pools(self) -> Rows:
        """The rows of SHOW POOLS, the console's own left out; none for a kind that has no such command."""
        return self.rows.get("pools", [])

    def reading(self, name: str) -> Reading:
        """Return all figures of one pool; one that was never used is idle."""
        return rates.reading(self.figures.get(name, PoolFigures()), self.rates.get(name))

    def whole(self) -> Reading:
        """Return all figures of all pools together."""
        return rates.total(self.reading(name) for name in self.figures)


@dataclass(frozen=True)
class LastQueues:
    """What the last poll of a console told of its queues: the figures of the pools whose clients wait, by name."""

    at: float
    error: str
    waiting: dict[str, PoolFigures]


class _CachedSnapshot:
    """The last snapshot of one pooler in this process, and the lock to refresh it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.version = 0
        self.snapshot = ConsoleSnapshot()

    def serves(self, pooler: Pooler) -> bool:
        return self.version == pooler.version and 0 <= self.snapshot.age_s < self.snapshot.serves_s


class Every:
    """Tells the first caller in each period of so many seconds that something is due."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.at = seconds, -seconds

    def is_due(self) -> bool:
        """Return whether the last time was that long ago, and begin a period if so."""
        now = time.monotonic()
        is_due = now - self.at >= self.seconds
        if is_due:
            self.at = now
        return is_due


_cache: dict[UUID, _CachedSnapshot] = {}
_drops = Every(DROPS_EVERY_S)
_polled: set[UUID] = set()  # by poll_in_background, at the moment


def latest(pooler: Pooler) -> ConsoleSnapshot:
    """Return a snapshot of at most a second ago; an edited pooler is polled again."""
    return _latest(pooler, redis_store.keep_and_hold)


def _latest(pooler: Pooler, keep: Keep) -> ConsoleSnapshot:
    cached = _cache.setdefault(pooler.pk, _CachedSnapshot())
    if cached.serves(pooler):
        return cached.snapshot
    if not cached.lock.acquire(timeout=WAIT_S):
        return _unanswered(pooler)
    try:
        if not cached.serves(pooler):
            before = cached.snapshot if cached.version == pooler.version else ConsoleSnapshot()
            cached.snapshot, cached.version = _shared_snapshot(pooler, before, keep), pooler.version
            if _drops.is_due():
                _drop_unused()
        return cached.snapshot
    finally:
        cached.lock.release()


def _drop_unused() -> None:
    """Drop the snapshots that nobody has asked for in a while; each may hold thousands of rows."""
    before = time.time() - UNUSED_S
    for key, cached in list(_cache.items()):
        if 0 < cached.snapshot.at < before and not cached.lock.locked():
            _cache.pop(key, None)


def snapshots_of(poolers: Iterable[Pooler], within_s: float = LONGEST_S) -> dict[UUID, ConsoleSnapshot]:
    """Return snapshots of poolers by their ids, polled in parallel; those that are late have an error."""
    by_id = {pooler.pk: pooler for pooler in sorted(poolers, key=_was_silent)}
    if not by_id:
        return {}
    threads = ThreadPoolExecutor(min(AT_ONCE, len(by_id)), thread_name_prefix="watch")
    kept = redis_store.Batch()
    coming = {threads.submit(_latest, pooler, kept.keep_and_hold): pooler for pooler in by_id.values()}
    late = _keep_until(kept, coming, time.monotonic() + within_s)
    threads.shutdown(wait=False, cancel_futures=True)
    answered = {coming[one].pk: one.result() for one in coming.keys() - late}
    return answered | {coming[one].pk: _unanswered(coming[one], within_s) for one in late}


def _keep_until(
    kept: redis_store.Batch, coming: Iterable["Future[ConsoleSnapshot]"], deadline: float
) -> set["Future[ConsoleSnapshot]"]:
    """Store what polls answer, many answers at once, until all have come or it is too late; return the late ones."""
    late = set(coming)
    while late and (left_s := deadline - time.monotonic()) > 0:
        _done, late = wait(late, timeout=min(left_s, KEPT_EVERY_S))
        with suppress(SharingDown):
            kept.flush()
    with suppress(SharingDown):
        kept.end()
    return late


def _was_silent(pooler: Pooler) -> bool:
    """Return whether a pooler did not answer last time: it may hang, so it is asked after those that did."""
    cached = _cache.get(pooler.pk)
    return pooler.state == PoolerState.UNREACHABLE or bool(cached and cached.snapshot.error)


def last_answers(poolers: Iterable[Pooler]) -> dict[UUID, Answer]:
    """Return the last known answer of each pooler, whichever process polled it; nobody is asked and nothing waited for.

    Poolers of which nothing is known are left out.
    """
    listed = list(poolers)
    found = {pooler.pk: answer_of(pooler, known) for pooler in listed if (known := _cached(pooler))}
    try:
        shared = redis_store.read_bytes(f"metrics:{pooler.pk}:{pooler.version}" for pooler in listed)
    except SharingDown:
        return found
    for pooler, packed in zip(listed, shared, strict=True):
        answer = Answer.unpacked(packed) if packed else None
        if answer and (pooler.pk not in found or found[pooler.pk].at <= answer.at):
            found[pooler.pk] = answer
    return found


def last_queues(poolers: Iterable[Pooler]) -> dict[UUID, LastQueues]:
    """Return the queues of the last known answer of each pooler, as `last_answers` does: nobody is asked."""
    listed = list(poolers)
    found = {pooler.pk: _queues_of(known) for pooler in listed if (known := _cached(pooler))}
    try:
        shared = redis_store.read_bytes(f"queues:{pooler.pk}:{pooler.version}" for pooler in listed)
    except SharingDown:
        return found
    for pooler, text in zip(listed, shared, strict=True):
        kept = json.loads(text) if text else None
        if kept and (pooler.pk not in found or found[pooler.pk].at <= kept["at"]):
            waiting = {name: PoolFigures(**figures) for name, figures in kept["waiting"].items()}
            found[pooler.pk] = LastQueues(kept["at"], kept["error"], waiting)
    return found


def _queues_of(snapshot: ConsoleSnapshot) -> LastQueues:
    waiting = {name: one for name, one in snapshot.figures.items() if one.cl_waiting}
    return LastQueues(snapshot.at, snapshot.error, waiting)


def _cached(pooler: Pooler) -> ConsoleSnapshot | None:
    cached = _cache.get(pooler.pk)
    return cached.snapshot if cached and cached.version == pooler.version and cached.snapshot.at else None


def poll_in_background(poolers: Iterable[Pooler]) -> list["Future[None]"]:
    """Start to poll these consoles unless they are being polled, and return without waiting for their answers."""
    due = [pooler for pooler in poolers if pooler.pk not in _polled]
    if not due:
        return []
    _polled.update(pooler.pk for pooler in due)
    threads = ThreadPoolExecutor(min(AT_ONCE, len(due)), thread_name_prefix="scrape")
    coming = [threads.submit(_poll, pooler) for pooler in due]
    threads.shutdown(wait=False)
    return coming


def _poll(pooler: Pooler) -> None:
    try:
        latest(pooler)
    finally:
        _polled.discard(pooler.pk)
        connections.close_all()


def _shared_snapshot(pooler: Pooler, before: ConsoleSnapshot, keep: Keep) -> ConsoleSnapshot:
    """Poll the console, or take the answer of another process; without Redis each process polls."""
    key = f"{pooler.pk}:{pooler.version}"
    try:
        is_first, polled_at = redis_store.claim_or_read(f"asked:{key}", POLLING_S, f"at:{key}")
        if not is_first:
            return _shared_answer(pooler, key)
        if polled_at != before.at:  # another process polled it last
            before = _decoded(redis_store.read(f"look:{key}")) or before
    except SharingDown:
        return _ask(pooler, before)
    fresh = _ask(pooler, before)
    queues = _queues_of(fresh)
    kept: dict[str, object] = {
        f"at:{key}": fresh.at,
        f"look:{key}": _encoded(fresh),
        f"queues:{key}": vars(queues) | {"waiting": {name: vars(one) for name, one in queues.waiting.items()}},
    }
    if KINDS[pooler.kind].exports_metrics:
        kept[f"metrics:{key}"] = answer_of(pooler, fresh).packed()
    with suppress(SharingDown):  # the next process notices, and polls by itself
        keep(kept, KEPT_S, held=f"asked:{key}", held_s=fresh.serves_s)
    return fresh


def _shared_answer(pooler: Pooler, key: str) -> ConsoleSnapshot:
    """Return the answer of the process that polls now, or did last. Raises `SharingDown`."""
    deadline, pause_s = time.monotonic() + WAIT_S, POLL_S
    while True:
        decoded = _decoded(redis_store.read(f"look:{key}"))
        if decoded and decoded.age_s < OLD_S:
            return decoded
        if time.monotonic() > deadline:
            return _unanswered(pooler)
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, SLOWEST_POLL_S)


def _ask(pooler: Pooler, before: ConsoleSnapshot) -> ConsoleSnapshot:
    at, began = time.time(), time.monotonic()
    try:
        sample = KINDS[pooler.kind].sample(pooler)
    except PoolerUnreachable as error:
        return ConsoleSnapshot(at=time.time(), error=str(error), serves_s=DOWN_S)
    took = time.monotonic() - began
    return ConsoleSnapshot(
        at=at + took / 2,
        figures=sample.figures,
        counters=sample.counters,
        rates=_rates(before, sample, at + took / 2),
        rows=sample.rows,
        processes=sample.processes,
        clients=sample.clients,
        most_clients=sample.most_clients,
        serves_s=max(FRESH_S, sum(map(len, sample.rows.values())) / ROWS_A_S),
    )


def _rates(before: ConsoleSnapshot, sample: ConsoleSample, at: float) -> dict[str, Rates]:
    """Return the rates since the last snapshot; none where that failed or is too old."""
    elapsed = at - before.at
    if before.error or elapsed > KEPT_S:
        return {}
    pairs = ((name, before.counters.get(name, Counters()), after) for name, after in sample.counters.items())
    pairs_of_rates = ((name, rates.between(first, after, elapsed)) for name, first, after in pairs)
    return {name: one for name, one in pairs_of_rates if one is not None}


def _unanswered(pooler: Pooler, after_s: float = WAIT_S) -> ConsoleSnapshot:
    text = _("the console of pooler %(pooler)s did not answer within %(seconds)s s")
    return ConsoleSnapshot(at=time.time(), error=text % {"pooler": pooler, "seconds": f"{after_s:g}"})


def _encoded(snapshot: ConsoleSnapshot) -> dict[str, Any]:
    """Return what `_decoded` reads; `asdict` would copy each of ten thousand rows."""
    by_name = {word: {name: vars(one) for name, one in getattr(snapshot, word).items()} for word in BY_NAME}
    return vars(snapshot) | by_name | {"processes": [vars(one) for one in snapshot.processes]}


def _decoded(kept: Any) -> ConsoleSnapshot | None:  # noqa: ANN401 (JSON of what `_encoded` made of a snapshot)
    if not kept:
        return None
    typed = {word: {name: make(**one) for name, one in kept[word].items()} for word, make in BY_NAME.items()}
    processes = [ProcessFigures(**one) for one in kept["processes"]]
    return ConsoleSnapshot(**kept | typed | {"processes": processes})
