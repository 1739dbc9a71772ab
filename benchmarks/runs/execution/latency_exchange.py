"""Passes the latencies of each interval from the parts to their coordinator, since percentiles can't be merged.

They go through Redis and are removed once taken. A program writes its log in blocks, so the latencies of an interval
may be known only when its part has ended: they are published then, and the coordinator takes them last. Without Redis,
intervals of the whole have no percentiles; the run's own percentiles come from the histograms in the database.
"""

import logging
import struct
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from benchmarks.analysis.latency.intervals import SHOWN, Figures
from benchmarks.models.metrics import with_enough_behind
from core.lib import redis_client

log = logging.getLogger(__name__)

KEPT_S = 600  # Latencies expire after this time if no leader reads them.
WITHIN_S = 0.5
LONGEST_US = 0xFFFFFFFF  # the largest value of an array of type "I": 71 minutes
SHARE = struct.Struct("<d")


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latencies of one interval in microseconds, and the share of the transactions that was logged."""

    us: Sequence[int]
    share: float = 1.0


def _key(part: UUID, attempt: int) -> str:
    return f"pooldeck:run:{part}:{attempt}:latencies"


def publish(part: UUID, attempt: int, seq: int, latencies: Latencies) -> None:
    """Publish the latencies of the sample of this number."""
    packed = SHARE.pack(latencies.share) + array("I", (min(one, LONGEST_US) for one in latencies.us)).tobytes()
    try:
        with redis_client.shared(WITHIN_S).pipeline(transaction=False) as pipe:
            pipe.hset(_key(part, attempt), str(seq), packed)
            pipe.expire(_key(part, attempt), KEPT_S)
            pipe.execute()
    except redis_client.ERRORS as error:
        log.debug("run %s: the latencies of sample %s were not handed over: %s", part, seq, error)


def receive(part: UUID, attempt: int, seqs: list[int]) -> list[Latencies | None]:
    """Return and remove the latencies of these samples; None where there are none."""
    names = [str(seq) for seq in seqs]
    try:
        with redis_client.shared(WITHIN_S).pipeline(transaction=False) as pipe:
            pipe.hmget(_key(part, attempt), names)
            pipe.hdel(_key(part, attempt), *names)
            packed, _ = pipe.execute()
    except redis_client.ERRORS as error:
        log.debug("run %s: the latencies of its samples can't be taken: %s", part, error)
        return [None] * len(seqs)
    return [_unpacked(one) if one else None for one in packed]


def receive_late(part: UUID, attempt: int) -> dict[int, Latencies]:
    """Return and remove, by the number of their sample, the latencies that a part published at its end."""
    try:
        with redis_client.shared(WITHIN_S).pipeline(transaction=False) as pipe:
            pipe.hgetall(_key(part, attempt))
            pipe.delete(_key(part, attempt))
            packed, _ = pipe.execute()
    except redis_client.ERRORS as error:
        log.debug("run %s: the late latencies of its samples can't be taken: %s", part, error)
        return {}
    return {int(seq): _unpacked(one) for seq, one in packed.items()}


def _unpacked(packed: bytes) -> Latencies:
    (share,) = SHARE.unpack_from(packed)
    us = array("I")
    us.frombytes(packed[SHARE.size :])
    return Latencies(us, share)


def percentiles(parts: Iterable[Latencies]) -> Figures:
    """Return the percentiles of an interval by nearest rank, each latency weighted by what it stands for."""
    weighed = sorted((one, 1 / part.share) for part in parts for one in part.us)
    total_weight = sum(weight for _, weight in weighed)
    enough = with_enough_behind(SHOWN, len(weighed))
    return cast("Figures", {name: _at(weighed, share / 100 * total_weight) / 1000 for name, share in enough.items()})


def _at(weighed: list[tuple[int, float]], rank: float) -> int:
    passed = 0.0
    for latency_us, weight in weighed:
        passed += weight
        if passed >= rank - 1e-9:
            return latency_us
    return weighed[-1][0]
