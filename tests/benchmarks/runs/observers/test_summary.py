"""What the looks of a run come to."""

from typing import Any

import pytest

from benchmarks.models import Observation, ObservationKind, Run
from benchmarks.runs.observers.summary import ObservationTotals


def totals_of(*observations: tuple[ObservationKind, float, dict[str, Any]]) -> ObservationTotals:
    totals = ObservationTotals()
    for kind, t, figures in observations:
        totals.add(Observation(kind=kind, t=t, figures=figures))
    return totals


def test_queue_and_service_are_weighted_by_what_was_done():
    totals = totals_of(
        (ObservationKind.POOLER, 1.5, {"wait_ms": 1.0, "service_ms": 4.0, "transactions_per_s": 300.0}),
        (ObservationKind.POOLER, 2.5, {"wait_ms": 5.0, "service_ms": 8.0, "transactions_per_s": 100.0}),
        (ObservationKind.POOLER, 3.5, {"wait_ms": None, "service_ms": None, "transactions_per_s": 0.0}),
    )
    assert totals.summary() == {"queue_ms": 2.0, "service_ms": 5.0}


def test_checkpoints_are_added_up():
    totals = totals_of(
        (ObservationKind.SERVER, 0.1, {"waits": {}}),
        (ObservationKind.SERVER, 0.6, {"checkpoints_timed": 1, "checkpoints_requested": 0}),
        (ObservationKind.SERVER, 1.6, {"checkpoints_timed": 0, "checkpoints_requested": 2}),
    )
    assert totals.summary() == {"checkpoints_timed": 1, "checkpoints_requested": 2}


def test_what_was_hidden_is_remembered():
    totals = totals_of(
        (ObservationKind.SERVER, 0.1, {"hidden": "wait events"}), (ObservationKind.SERVER, 0.6, {"waits": {}})
    )
    assert totals.summary() == {"hidden": "wait events"}


def test_the_start_does_not_count():
    totals = totals_of((ObservationKind.GENERATOR, 0.5, {"cpu_percent": 100.0, "busy_percent": 100.0}))
    assert (totals.summary(), totals.warnings(Run())) == ({}, [])


@pytest.mark.parametrize(
    ("busy", "pooler", "reported"),
    [
        (80.0, 80.0, []),
        (92.4, None, ["pgbench itself took 92 % of what its threads can use"]),
        (10.0, 97.0, ["PgBouncer took 97 % of the one core"]),
    ],
)
def test_a_program_that_is_the_limit_is_named(busy, pooler, reported):
    figures = {"cpu_percent": busy, "busy_percent": busy, "pooler_cpu_percent": pooler}
    warnings = totals_of((ObservationKind.GENERATOR, 2.0, figures)).warnings(Run(engine="pgbench"))
    assert [text[: len(start)] for text, start in zip(warnings, reported, strict=True)] == reported


@pytest.mark.parametrize(
    ("taken", "reported"),
    [
        (90.0, []),
        (
            97.4,
            [
                "the products service took 97 % of the one core that its process can use: it may be the limit, not the "
                "server; compare its kinds of connection with each other, or use several generators, each of which has "
                "a service of its own"
            ],
        ),
    ],
)
def test_a_service_that_is_the_limit_is_named(taken, reported):
    totals = totals_of((ObservationKind.GENERATOR, 2.0, {"service_cpu_percent": taken}))
    assert (totals.summary(), totals.warnings(Run(engine="http"))) == ({"service_cpu_percent": taken}, reported)


def test_who_counts_no_queue_is_remembered():
    nothing = {"wait_ms": None, "service_ms": None, "transactions_per_s": None}
    first = (ObservationKind.POOLER, 1.5, nothing | {"uncounted_by": "Pgpool-II"})
    assert totals_of(first, (ObservationKind.POOLER, 2.5, nothing)).summary() == {"uncounted_by": "Pgpool-II"}
