"""Runs side by side: each figure's ratio to the first run's, in words that claim no more than single runs can show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from benchmarks.engines.pgbench import scripts

PROGRAM = "load program"
NOISE = 0.08  # what bare pgbench varies by from run to run on one machine
NOISE_STATEMENT = (
    "On one machine bare pgbench varies about ±8 % from run to run: "
    "a difference within that from single runs is noise, not a result."
)


class Direction(StrEnum):
    """Which way a metric is better."""

    UP = "up"
    DOWN = "down"
    NONE = "none"


class Tone(StrEnum):
    """How a ratio reads: beyond the noise for better or worse, within it, or not to be compared."""

    BETTER = "better"
    WORSE = "worse"
    NOISE = "noise"
    NONE = "none"


@dataclass(frozen=True)
class Metric:
    """A figure of the summary: its key there, its name and unit for people, the direction that is better."""

    key: str
    label: str
    unit: str
    direction: Direction


METRICS = (
    Metric("tps", "Throughput", "tps", Direction.UP),
    Metric("latency_avg_ms", "Latency, average", "ms", Direction.DOWN),
    Metric("latency_stddev_ms", "Latency, standard deviation", "ms", Direction.DOWN),
    Metric("latency_p50_ms", "Latency, median", "ms", Direction.DOWN),
    Metric("latency_p90_ms", "Latency, 90th percentile", "ms", Direction.DOWN),
    Metric("latency_p95_ms", "Latency, 95th percentile", "ms", Direction.DOWN),
    Metric("latency_p99_ms", "Latency, 99th percentile", "ms", Direction.DOWN),
    Metric("latency_p99_9_ms", "Latency, 99.9th percentile", "ms", Direction.DOWN),
    Metric("service_p50_ms", "Service time, median", "ms", Direction.DOWN),
    Metric("service_p95_ms", "Service time, 95th percentile", "ms", Direction.DOWN),
    Metric("service_p99_ms", "Service time, 99th percentile", "ms", Direction.DOWN),
    Metric("lag_avg_ms", "Behind the schedule, average", "ms", Direction.DOWN),
    Metric("lag_max_ms", "Behind the schedule, at most", "ms", Direction.DOWN),
    Metric("average_connection_ms", "Connecting, average", "ms", Direction.DOWN),
    Metric("initial_connection_ms", "Connecting all clients at the start", "ms", Direction.DOWN),
    Metric("transactions", "Transactions", "", Direction.NONE),
    Metric("failed", "Failed transactions", "", Direction.DOWN),
    Metric("serialization_failures", "Failed: serialization", "", Direction.DOWN),
    Metric("deadlock_failures", "Failed: deadlock", "", Direction.DOWN),
    Metric("other_failures", "Failed: other errors", "", Direction.DOWN),
    Metric("retried", "Retried transactions", "", Direction.DOWN),
    Metric("retries", "Retries", "", Direction.DOWN),
    Metric("skipped", "Skipped as too late", "", Direction.DOWN),
    Metric("above_latency_limit", "Above the latency limit", "", Direction.DOWN),
    Metric("latency_samples", "Transactions behind the percentiles", "", Direction.NONE),
    Metric("effective_clients", "Clients busy on average", "", Direction.NONE),
)


@dataclass(frozen=True)
class Subject:
    """A run as the comparison sees it; `valid` says whether its figures may be compared, None not known yet."""

    label: str
    valid: bool | None
    summary: Mapping[str, float | None]
    options: Mapping[str, Any]
    server_version: str = ""
    engine: str = ""


@dataclass(frozen=True)
class Cell:
    """One figure; `ratio` is to the first run, None for the first itself and where either value is missing or zero."""

    value: float | None
    ratio: float | None
    tone: Tone


@dataclass(frozen=True)
class Row:
    """One metric over all runs."""

    metric: Metric
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Difference:
    """A setting in which the runs are not alike, so that their figures answer different questions."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """What the page shows: rows of figures, one sentence per further run, and what was not the same."""

    rows: tuple[Row, ...]
    verdicts: tuple[str, ...]
    differences: tuple[Difference, ...]


def compare(subjects: Sequence[Subject]) -> Comparison:
    """Compare two or more runs with the first; metrics that no run printed are left out."""
    rows = tuple(_row(metric, subjects) for metric in METRICS if _anyone_has(metric, subjects))
    verdicts = tuple(_verdict(subjects[0], subject) for subject in subjects[1:])
    return Comparison(rows, verdicts, differences(subjects))


def tone_of(ratio: float | None, direction: Direction) -> Tone:
    """Whether a ratio is better, worse or within the noise, whose band is the same both ways (1/1.08 … 1.08)."""
    if ratio is None or direction is Direction.NONE:
        return Tone.NONE
    if 1 / (1 + NOISE) <= ratio <= 1 + NOISE:
        return Tone.NOISE
    return Tone.BETTER if (ratio > 1) == (direction is Direction.UP) else Tone.WORSE


def differences(subjects: Sequence[Subject]) -> tuple[Difference, ...]:
    """The load program first, then options and server versions that are not the same in all runs, by name."""
    described = [
        {**_in_words(subject.options), PROGRAM: subject.engine, "server version": subject.server_version}
        for subject in subjects
    ]
    names = sorted({name for one in described for name in one}, key=lambda name: (name != PROGRAM, name))
    every = (Difference(name, tuple(_text(one.get(name)) for one in described)) for name in names)
    return tuple(difference for difference in every if len(set(difference.values)) > 1)


def _in_words(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they can be told: scripts by their names, without their texts, and variables one after the other."""
    told = dict(options)
    if told.get("scripts"):
        told |= {"builtin": None, "scripts": scripts.in_words(told)}
    if told.get("variables"):
        told["variables"] = ", ".join(f"{name} = {value!r}" for name, value in told["variables"].items())
    return told


def _anyone_has(metric: Metric, subjects: Sequence[Subject]) -> bool:
    return any(subject.summary.get(metric.key) is not None for subject in subjects)


def _row(metric: Metric, subjects: Sequence[Subject]) -> Row:
    return Row(metric, tuple(_cell(metric, subjects[0], subject) for subject in subjects))


def _cell(metric: Metric, first: Subject, subject: Subject) -> Cell:
    value = subject.summary.get(metric.key)
    ratio = None if subject is first else _ratio(value, first.summary.get(metric.key))
    comparable = bool(first.valid and subject.valid)
    return Cell(value, ratio, tone_of(ratio, metric.direction) if comparable else Tone.NONE)


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None


def _verdict(first: Subject, subject: Subject) -> str:
    for one in (first, subject):
        if one.valid is None:
            return f"{subject.label} is not compared with {first.label} yet: {one.label} has not ended."
        if not one.valid:
            return f"{subject.label} is not compared with {first.label}: {one.label} is not valid."
    ratio = _ratio(subject.summary.get("tps"), first.summary.get("tps"))
    if ratio is None:
        return f"{subject.label} is not compared with {first.label}: a throughput above 0 is missing."
    if tone_of(ratio, Direction.UP) is Tone.NOISE:
        return (
            f"No difference shown between {subject.label} and {first.label}: ×{ratio:.2f} is within the ±8 % of noise."
        )
    way = "more" if ratio > 1 else "less"
    return (
        f"{subject.label} carried {way} than {first.label}: ×{ratio:.2f} the throughput, "
        "beyond the ±8 % of noise. One run each: repeat both before relying on the number."
    )


def _text(value: object) -> str:
    if value in (None, ""):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
