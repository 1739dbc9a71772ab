"""Advice on a pool's size, by simulated servers whose best size is known."""

import random
from itertools import pairwise

import pytest

from benchmarks.experiments.advice import recommendation, scalability, sweep
from benchmarks.experiments.advice.scalability import Law

SIZES = (1, 2, 4, 8, 16, 32, 64)
TIE_BAND = 0.05
NOISE = 0.04  # of a run's throughput, one standard deviation
SEEDS = 200
SERVERS = {
    "peaks early": Law(500, 0.05, 0.01),
    "peaks late": Law(300, 0.02, 0.0005),
    "saturates": Law(800, 0.2, 0.0),
    "contends": Law(1000, 0.6, 0.002),
}


def swept(law: Law, seed: int) -> dict[int, list[float]]:
    """Return throughputs as the sweep collects them: three rounds of two runs, the better half going on."""
    draw = random.Random(seed)
    found: dict[int, list[float]] = {size: [] for size in SIZES}
    kept = list(SIZES)
    for _round in range(sweep.ROUNDS):
        for size in kept:
            found[size] += [law.throughput(size) * draw.gauss(1, NOISE) for _ in range(sweep.BLOCKS)]
        kept = recommendation.survivors({size: found[size] for size in kept})
    return found


@pytest.mark.parametrize("law", SERVERS.values(), ids=SERVERS)
def test_the_recommended_size_is_within_10_percent_of_the_best_in_95_of_100_sweeps(law: Law, monkeypatch) -> None:
    monkeypatch.setattr(recommendation, "RESAMPLES", 5)  # they make the interval alone
    best = max(map(law.throughput, SIZES))
    near = 0
    for seed in range(SEEDS):
        found = recommendation.recommend(swept(law, seed), TIE_BAND, seed)
        assert found is not None
        near += law.throughput(found.size) >= 0.9 * best
    assert near >= 0.95 * SEEDS


def test_the_fit_finds_the_law_again() -> None:
    law = SERVERS["peaks early"]
    found = scalability.fit({size: [law.throughput(size)] for size in SIZES})
    assert found is not None
    assert (found.rate, found.contention, found.coherency) == pytest.approx((500, 0.05, 0.01))
    assert found.peak == pytest.approx(law.peak)


def test_the_interval_holds_the_size_and_the_reserve_is_a_tenth() -> None:
    found = recommendation.recommend(swept(SERVERS["peaks late"], 1), TIE_BAND, 1)
    assert found is not None
    assert found.interval[0] <= found.size <= found.interval[1]
    assert found.reserve == max(1, round(found.size / 10))


def test_without_runs_there_is_no_answer_and_with_two_sizes_no_law() -> None:
    assert recommendation.recommend({4: []}, TIE_BAND) is None
    found = recommendation.recommend({4: [100.0, 101.0], 8: [99.0, 100.0]}, TIE_BAND)
    assert found is not None
    assert (found.size, found.law) == (4, None)


def test_half_of_the_sizes_go_on_and_three_at_least() -> None:
    measured = {size: [float(size)] for size in SIZES}
    kept = recommendation.survivors(measured)
    assert kept == [8, 16, 32, 64]
    assert recommendation.survivors({size: measured[size] for size in (1, 2, 4, 8)}) == [2, 4, 8]
    assert all(one < other for one, other in pairwise(kept))
