"""Heartbeats of beat and of workers in Redis: which are alive, of those that take runs and those that take tasks."""

import logging
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import redis
from django.conf import settings
from django.utils.translation import gettext_lazy as _  # panel.health_probe asks without the apps that gettext needs

from benchmarks.errors import QueueDown
from core.lib import redis_client
from core.lib.queues import WorkerKind

log = logging.getLogger(__name__)

RUNS, TASKS, BEAT = "pooldeck:generators", "pooldeck:workers", "pooldeck:beat"
BY_WORK = {"tasks": TASKS, "runs": RUNS}  # kind of work → key of the workers that take it
MACHINES = "pooldeck:machines"  # worker → the name of its machine
CLOCKS = "pooldeck:clocks"  # worker → seconds by which its clock is ahead of Redis's
STALLED = "pooldeck:stalled"  # worker → seconds for which it has taken no message although some wait
ALIVE_WITHIN = timedelta(seconds=15)  # a worker beats every 2 s; a loaded machine may be late
REMEMBERED_FOR = timedelta(days=7)
ANSWER_WITHIN_S = 2


@dataclass(frozen=True)
class Heartbeat:
    """A worker by its POOLDECK_GENERATOR, and the time of its last heartbeat."""

    name: str
    last_seen_at: datetime

    def is_alive(self, now: datetime) -> bool:
        """Test whether its last heartbeat is recent enough to give it work."""
        return now - self.last_seen_at <= ALIVE_WITHIN


@contextmanager
def asking_redis() -> Iterator["redis.Redis"]:
    """Yield a client with a short deadline; raise `QueueDown`."""
    try:
        yield redis_client.shared_text(ANSWER_WITHIN_S)
    except redis.RedisError as error:
        raise QueueDown(_("redis can't be reached, so it is unknown which generators live; try again")) from error


def beat(name: str, kind: WorkerKind) -> None:
    """Write a heartbeat of a worker for the kinds of work it takes; raise `QueueDown`."""
    keys = ([RUNS] if kind.takes_runs else []) + ([TASKS] if kind.takes_tasks else [])
    with asking_redis() as client:
        for key in keys:
            client.zadd(key, {name: time.time()})
        client.hset(MACHINES, name, socket.gethostname())
        client.hset(CLOCKS, name, f"{_ahead_of(client):.3f}")


def waiting(names: Iterable[str]) -> int:
    """Return the number of messages that wait in these queues; raise `QueueDown`."""
    with asking_redis() as client, client.pipeline(transaction=False) as commands:
        for name in names:
            commands.llen(name)
        return sum(commands.execute())


def report_stall(name: str, stalled_s: float) -> None:
    """Record for how many seconds a worker has taken no message although some wait (0: it takes them).

    Raises `QueueDown`.
    """
    with asking_redis() as client:
        if stalled_s:
            client.hset(STALLED, name, f"{stalled_s:.1f}")
        else:
            client.hdel(STALLED, name)


def report_alive() -> None:
    """Write this worker's heartbeat; without Redis it has no work either, so a failure is only logged."""
    try:
        beat(settings.GENERATOR, settings.WORKER)
    except QueueDown as error:
        log.warning("no heartbeat of worker %s: %s", settings.GENERATOR, error)


def report_beat() -> None:
    """Write the heartbeat of beat; without Redis it can send no task either, so a failure is only logged."""
    try:
        with asking_redis() as client:
            client.zadd(BEAT, {settings.GENERATOR: time.time()})
    except QueueDown as error:
        log.warning("no heartbeat of beat: %s", error)


def ages_s() -> dict[str, float | None]:
    """Return the seconds since the last heartbeat of beat and of each worker; None: none in the last week.

    Raises `QueueDown`.
    """
    now, keys = datetime.now(UTC), {"beat": BEAT} | BY_WORK
    last_seen = {name: [one.last_seen_at for one in seen(key)] for name, key in keys.items()}
    return {name: round((now - max(times)).total_seconds(), 1) if times else None for name, times in last_seen.items()}


def seen(key: str = RUNS) -> list[Heartbeat]:
    """Return the workers of the last week that take runs (or `TASKS`), the latest first; raise `QueueDown`."""
    with asking_redis() as client:
        client.zremrangebyscore(key, "-inf", time.time() - REMEMBERED_FOR.total_seconds())
        found: Any = client.zrevrange(key, 0, -1, withscores=True)  # typed for every protocol; here (name, time) pairs
    return [Heartbeat(name=name, last_seen_at=datetime.fromtimestamp(score, UTC)) for name, score in found]


def missing() -> list[str]:
    """Return the kinds of work that no live worker takes: `tasks`, `runs`; raise `QueueDown`."""
    now = datetime.now(UTC)
    return [name for name, key in BY_WORK.items() if not any(one.is_alive(now) for one in seen(key))]


def stalls_s() -> dict[str, float]:
    """Return live worker → seconds for which it has taken no message although some wait, 0 where it takes them.

    Raises `QueueDown`.
    """
    now = datetime.now(UTC)
    alive = {one.name for key in BY_WORK.values() for one in seen(key) if one.is_alive(now)}
    with asking_redis() as client:
        found: Any = client.hgetall(STALLED)  # typed for every protocol
    return {name: float(found.get(name, 0)) for name in sorted(alive)}


def stalled_work_s() -> dict[str, float]:
    """Return the kinds of work whose live workers all take no message, and for how many seconds; raise `QueueDown`."""
    now, stalls = datetime.now(UTC), stalls_s()
    alive = {kind: [one.name for one in seen(key) if one.is_alive(now)] for kind, key in BY_WORK.items()}
    least_s = {kind: min((stalls.get(name, 0.0) for name in names), default=0.0) for kind, names in alive.items()}
    return {kind: stalled_s for kind, stalled_s in least_s.items() if stalled_s}


def workers_elsewhere() -> dict[str, str]:
    """Return worker → machine of the live workers on other machines than this process's; raise `QueueDown`.

    Each holds the panel's keys and its logins to the metadata database and to Redis.
    """
    now, here = datetime.now(UTC), socket.gethostname()
    alive = {one.name for one in [*seen(RUNS), *seen(TASKS)] if one.is_alive(now)}
    with asking_redis() as client:
        machines: Any = client.hgetall(MACHINES)  # typed for every protocol
    return {name: machines[name] for name in sorted(alive & machines.keys()) if machines[name] != here}


def _ahead_of(client: "redis.Redis") -> float:
    """Return by how many seconds this machine's clock is ahead of Redis's; the way there counts half."""
    began = time.time()
    seconds, microseconds = client.time()
    return (began + time.time()) / 2 - (seconds + microseconds / 1e6)


def clocks_ahead_s() -> dict[str, float]:
    """Return by how many seconds the clock of each live worker is ahead of this machine's; raise `QueueDown`."""
    now = datetime.now(UTC)
    alive = {one.name for one in [*seen(RUNS), *seen(TASKS)] if one.is_alive(now)}
    with asking_redis() as client:
        found: Any = client.hgetall(CLOCKS)  # typed for every protocol
        here_s = _ahead_of(client)
    return {name: float(found[name]) - here_s for name in sorted(alive & found.keys())}


def forget(name: str) -> None:
    """Delete a generator's heartbeats; raise `QueueDown`."""
    with asking_redis() as client:
        client.zrem(RUNS, name)
        client.hdel(MACHINES, name)
        client.hdel(CLOCKS, name)
        client.hdel(STALLED, name)
