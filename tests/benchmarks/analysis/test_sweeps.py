"""Arms that differ in clients alone are drawn over them, with where the throughput is highest."""

import itertools

import pytest

from benchmarks.analysis import arms, sweeps
from benchmarks.analysis.arms import Outcome
from benchmarks.analysis.sweeps import Sweep
from tests.benchmarks.analysis.test_arms import run


def a_step(clients, tps, latency_ms=None, endpoint_kind="pooled", threads=1, **fields):
    summary = {"tps": tps, "latency_avg_ms": latency_ms or 1000 * clients / tps}
    options = {"clients": clients, "threads": threads, "builtin": "select-only"}
    return run(endpoint_kind, options=options, summary=summary, **fields)


def drawn(*runs) -> Sweep | None:
    return sweeps.of(arms.compare(runs))


def test_steps_are_sorted_and_threads_follow_the_clients():
    found = drawn(a_step(8, 4000.0, threads=4), a_step(1, 1000.0), a_step(2, 1900.0, threads=2))
    assert found is not None
    [series] = found.series
    assert (series.label, [(step.clients, step.tps) for step in series.steps]) == (
        "pooled",
        [(1, 1000.0), (2, 1900.0), (8, 4000.0)],
    )
    assert [label for _x, label in found.tps.client_ticks] == ["1", "2", "8"]
    xs = [x for x, _label in found.tps.client_ticks]
    assert xs[1] - xs[0] == pytest.approx((xs[2] - xs[1]) / 2)  # 1 to 2 is half of 2 to 8 on a logarithmic axis


def test_what_the_clients_came_to_is_said():
    rising = drawn(a_step(1, 1000.0, 1.0), a_step(2, 1900.0, 1.05))
    assert rising is not None
    assert rising.series[0].conclusion == (
        "Throughput of pooled is highest with 2 clients: 1,900 tps, average latency 1.05 ms. It is still rising there: "
        "the most that it can do may need more clients than were tried."
    )
    flat = drawn(a_step(4, 3900.0, 1.03), a_step(1, 1000.0, 1.0), a_step(16, 4000.0, 4.0), a_step(64, 3700.0, 17.3))
    assert flat is not None
    assert flat.series[0].conclusion == (
        "Throughput of pooled is highest with 16 clients: 4,000 tps, average latency 4 ms. 4 clients already reach "
        "98 % of that, with an average latency of 1.03 ms."
    )


def test_both_routes_are_two_series_and_repeats_are_dots_around_a_median():
    repeats = itertools.product(("direct", "pooled"), (1, 4), (90.0, 110.0))
    found = drawn(*(a_step(clients, tps, endpoint_kind=kind) for kind, clients, tps in repeats))
    assert found is not None
    assert [(one.label, one.color, [step.tps for step in one.steps]) for one in found.series] == [
        ("direct", 1, [100.0, 100.0]),
        ("pooled", 2, [100.0, 100.0]),
    ]
    counts = [(line.color, len(line.dots), len(line.points.split())) for line in found.tps.lines]
    assert counts == [(1, 4, 2), (2, 4, 2)]
    assert found.tps.lines[0].dots[0].words == "direct, 1 client: 90 tps"


def test_two_loads_are_told_apart_by_what_they_differ_in():
    loads = [
        run("pooled", options={"clients": clients, "builtin": builtin}, summary={"tps": 10.0 * clients})
        for builtin in ("select-only", "tpcb-like")
        for clients in (1, 2)
    ]
    found = drawn(*loads)
    assert found is not None
    assert [one.label for one in found.series] == ["pooled, builtin select-only", "pooled, builtin tpcb-like"]


def test_a_step_without_a_valid_run_has_no_median_and_its_dot_says_why():
    doubtful = a_step(4, 5.0, outcome=Outcome.SUSPECT, reasons=("some clients hung",))
    found = drawn(a_step(1, 100.0), a_step(2, 190.0), doubtful, a_step(8, 9.0, outcome=Outcome.NOT_ENDED))
    assert found is not None
    assert [step.tps for step in found.series[0].steps] == [100.0, 190.0, None, None]
    [line] = found.tps.lines
    assert [dot.counts for dot in line.dots] == [True, True, False]
    assert line.dots[2].words == "pooled, 4 clients: 5 tps; suspect: some clients hung"
    assert len(line.points.split()) == 2
    assert found.has_doubtful
    assert "highest with 2 clients" in found.series[0].conclusion


def test_percentiles_are_dashed_where_they_are_known():
    known = [
        run(options={"clients": clients}, summary={"tps": 9.0, "latency_avg_ms": 1.0, "latency_p95_ms": 2.0})
        for clients in (1, 2)
    ]
    found = drawn(*known)
    assert found is not None
    assert (found.has_p95, [line.is_dashed for line in found.latency.lines]) == (True, [False, True])


@pytest.mark.parametrize(
    "runs",
    [
        [a_step(4, 9.0), a_step(4, 9.0)],
        [a_step(4, 9.0), a_step(4, 9.0, endpoint_kind="direct")],
        [a_step(4, 9.0), a_step(4, 9.0, threads=2)],
        [a_step(4, 9.0), a_step(8, 9.0), a_step(4, 9.0, endpoint_kind="direct")],
        [run(options={"transactions": 1}), run(options={"transactions": 2})],
    ],
    ids=["one arm", "two routes", "threads alone", "one route swept", "no clients"],
)
def test_arms_that_are_no_sweep_are_not_drawn(runs):
    assert drawn(*runs) is None


def test_a_sweep_without_figures_yet_has_axes_and_no_dots():
    found = drawn(*(run(options={"clients": clients}, summary={}, outcome=Outcome.NOT_ENDED) for clients in (1, 2)))
    assert found is not None
    assert (found.tps.lines, found.series[0].conclusion) == ((), "")
