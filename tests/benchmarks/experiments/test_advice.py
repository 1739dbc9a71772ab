"""Advice on a pool's size, by simulated servers whose best size is known."""

import pytest

from benchmarks.analysis import validity
from benchmarks.experiments.advice import grid, recommendation, scalability
from benchmarks.experiments.advice.grid import Cell
from benchmarks.experiments.advice.scalability import ScalabilityLaw
from tests.bench.evidence import advisor

SIZES = (1, 2, 4, 8, 16, 32, 64)
SEEDS = 100


@pytest.mark.parametrize("minutes", advisor.MINUTES)
@pytest.mark.parametrize("law", advisor.SERVERS.values(), ids=advisor.SERVERS)
def test_the_recommended_size_is_within_10_percent_of_the_best_in_95_of_100_sweeps(
    law: ScalabilityLaw, minutes: int
) -> None:
    assert sum(advisor.is_near(law, minutes, seed) for seed in range(SEEDS)) >= advisor.GOAL * SEEDS


def test_the_fit_finds_the_law_again() -> None:
    law = advisor.SERVERS["peaks early"]
    found = scalability.fit({size: [law.throughput(size)] for size in SIZES})
    assert found is not None
    assert (found.rate, found.contention, found.coherency) == pytest.approx((500, 0.05, 0.01))
    assert found.peak == pytest.approx(law.peak)


def test_the_interval_holds_the_size_and_the_reserve_is_a_tenth() -> None:
    found = recommendation.recommend(advisor.swept(advisor.SERVERS["peaks late"], 5, seed=1), advisor.TIE_BAND, 1)
    assert found is not None
    assert found.interval[0] <= found.size <= found.interval[1]
    assert found.reserve == max(1, round(found.size / 10))


def test_without_runs_there_is_no_answer_and_with_two_sizes_no_law() -> None:
    assert recommendation.recommend({4: []}, advisor.TIE_BAND) is None
    found = recommendation.recommend({4: [100.0, 101.0], 8: [99.0, 100.0]}, advisor.TIE_BAND)
    assert found is not None
    assert (found.size, found.law) == (4, None)


def by_share(cells: dict[Cell, float]) -> dict[Cell, list[float]]:
    return {cell: [tps] for cell, tps in cells.items()}


def test_half_of_the_expected_clients_cells_go_on_and_three_at_least() -> None:
    measured = by_share({(size, 64): float(size) for size in SIZES})
    assert grid.survivors(measured, 64) == [(8, 64), (16, 64), (32, 64), (64, 64)]
    few = {cell: measured[cell] for cell in measured if cell[0] <= 8}
    assert grid.survivors(few, 64) == [(2, 64), (4, 64), (8, 64)]


def test_of_other_clients_those_near_the_best_of_as_many_go_on() -> None:
    measured = by_share({(1, 8): 50, (2, 8): 100, (1, 32): 300, (2, 32): 290, (1, 64): 80, (2, 64): 400, (4, 64): 390})
    assert grid.survivors(measured, 32) == [(1, 32), (2, 8), (2, 32), (2, 64), (4, 64)]


def test_a_cell_without_a_valid_run_goes_on_last() -> None:
    assert grid.survivors({(1, 2): [], (2, 2): [], (1, 8): [5.0], (2, 8): []}, 8) == [(1, 2), (1, 8), (2, 8)]


@pytest.mark.parametrize(
    ("free", "own", "found"),
    [
        (200, None, [1, 2, 6, 12, 24, 48, 64]),  # all of them
        (97, None, [1, 2, 6, 12, 24, 48]),
        (40, None, [1, 2, 6, 24]),
        (97, 64, [1, 2, 6, 24, 64]),
        (2, None, []),
    ],
)
def test_the_pools_of_a_sweep_fit_the_budget_together(free: int, own: int | None, found: list[int]) -> None:
    sizes = [one for one in (1, 2, 6, 12, 24, 48, 64) if one <= free]
    assert grid.within_budget(sizes, free, own) == found


def test_logins_may_take_as_much_of_a_run_as_one_that_is_valid() -> None:
    assert grid.LOGINS_SHARE <= 1 - validity.LEAST_LOAD_SHARE


def test_no_cell_has_more_connections_than_clients() -> None:
    found = grid.fitted((1, 4, 16), 16, minutes=30, scale=1)
    assert sorted(found.cells) == [(1, 4), (1, 16), (1, 32), (4, 4), (4, 16), (4, 32), (16, 16), (16, 32)]
    assert (found.rounds, grid.client_counts(1), grid.client_counts(16)) == (3, [1, 2], [4, 16, 32])


@pytest.mark.parametrize("minutes", [1, 2, 3, 5, 10, 30, 120])
@pytest.mark.parametrize("sizes", [(1, 2), (1, 2, 8), (1, 2, 6, 12, 24, 32), SIZES[:-1]])
def test_a_sweep_takes_its_minutes_and_no_more(sizes: tuple[int, ...], minutes: int) -> None:
    found = grid.fitted(sizes, 32, minutes, scale=10)
    own = [size for size, clients in found.cells if clients == 32]
    assert {sizes[0], sizes[-1]} <= set(own)
    runs = grid.runs_of(found.cells, 32, found.rounds)
    assert runs * (found.duration_s + grid.WARM_UP_S + grid.SET_UP_S) + grid.FRAME_S <= minutes * 60
    assert found.duration_s >= grid.WANTED_S
    assert max(clients for _, clients in found.cells) * grid.LOGIN_S < (found.duration_s + 1) * grid.LOGINS_SHARE


@pytest.mark.parametrize(
    ("minutes", "rows", "rounds"),
    [(1, {32}, 1), (2, {8, 32}, 1), (3, {8, 32}, 2), (5, {8, 32, 64}, 1), (6, {8, 32, 64}, 2), (10, {8, 32, 64}, 3)],
)
def test_the_more_minutes_the_more_clients_and_rounds(minutes: int, rows: set[int], rounds: int) -> None:
    found = grid.fitted((1, 2, 6, 12, 24, 32), 32, minutes, scale=10)
    assert ({clients for _, clients in found.cells}, found.rounds) == (rows, rounds)


def test_a_round_measures_the_expected_clients_twice_and_the_others_once() -> None:
    keys = {(1, 2): "a", (1, 8): "b", (2, 8): "c"}
    first, second = grid.blocks(keys, 8, seed=1)
    assert sorted(first) == ["a", "b", "c"]
    assert second == [key for key in first[::-1] if key != "a"]
    assert grid.runs_of(keys, 8, rounds=1) == 5
