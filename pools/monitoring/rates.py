"""Rates of a pool, from two readings of its counters; pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields

from pools.poolers.console_sample import Counters, PoolFigures

Reading = dict[str, float | None]  # a value for each of FIGURES

GAUGES = ("cl_active", "cl_waiting", "sv_active", "sv_idle", "sv_used", "maxwait_ms")
RATES = ("queries_per_s", "transactions_per_s", "received_bytes_per_s", "sent_bytes_per_s")
WEIGHTS = {"query_ms": "queries_per_s", "transaction_ms": "transactions_per_s", "wait_ms": "transactions_per_s"}
COUNTERS = tuple(one.name for one in fields(Counters))
FIGURES = (*GAUGES, *RATES, *WEIGHTS)


@dataclass(frozen=True)
class Rates:
    """A pool over one interval: counts and bytes per second, and average times in ms, None where nothing ended.

    `wait_ms` is the time that clients waited for a server connection, shared out over the transactions.
    """

    queries_per_s: float
    transactions_per_s: float
    received_bytes_per_s: float
    sent_bytes_per_s: float
    query_ms: float | None
    transaction_ms: float | None
    wait_ms: float | None


def between(before: Counters, after: Counters, elapsed_s: float) -> Rates | None:
    """Return the rates of an interval; None for an empty one, or where a counter shrank (the pooler restarted)."""
    grown = {name: getattr(after, name) - getattr(before, name) for name in COUNTERS}
    if elapsed_s <= 0 or min(grown.values()) < 0:
        return None
    return Rates(
        queries_per_s=grown["queries"] / elapsed_s,
        transactions_per_s=grown["transactions"] / elapsed_s,
        received_bytes_per_s=grown["received_bytes"] / elapsed_s,
        sent_bytes_per_s=grown["sent_bytes"] / elapsed_s,
        query_ms=_each_ms(grown["query_us"], grown["queries"]),
        transaction_ms=_each_ms(grown["transaction_us"], grown["transactions"]),
        wait_ms=_each_ms(grown["wait_us"], grown["transactions"]),
    )


def _each_ms(total_us: int, count: int) -> float | None:
    return total_us / count / 1000 if count else None


def reading(figures: PoolFigures, rates: Rates | None) -> Reading:
    """Return all figures of a pool in one snapshot; rates are None until there were two."""
    gauges: Reading = {name: getattr(figures, name) for name in GAUGES}
    return gauges | {name: getattr(rates, name, None) for name in (*RATES, *WEIGHTS)}


def without_uncounted(reading: Mapping[str, float | None], uncounted: Collection[str]) -> Reading:
    """Return the reading with None for what the kind of pooler does not count: 0 would be a guess."""
    return {name: None if name in uncounted else value for name, value in reading.items()}


def total(readings: Iterable[Reading]) -> Reading:
    """Return a pooler's figures from those of its pools: sums, the longest wait, and times weighted by what ended.

    A console that names no pool has no connections, which is known; its rates are not.
    """
    listed = list(readings)
    sums: Reading = {name: _sum(one[name] for one in listed) or 0 for name in GAUGES}
    sums |= {name: _sum(one[name] for one in listed) for name in RATES}
    sums["maxwait_ms"] = max((one["maxwait_ms"] or 0 for one in listed), default=0)
    for name, weight in WEIGHTS.items():
        sums[name] = mean((one[name], one[weight] or 0) for one in listed)
    return sums


def mean(weighted: Iterable[tuple[float | None, float]]) -> float | None:
    """Return the mean of (value, weight) pairs; None where no value has a weight."""
    known = [(value, weight) for value, weight in weighted if value is not None]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
