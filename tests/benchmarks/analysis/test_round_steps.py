"""Steps between ticks are round, and as many as there is room for."""

import pytest

from benchmarks.analysis.round_steps import round_step


@pytest.mark.parametrize(
    ("reach", "most", "step"),
    [(1, 5, 0.5), (4.9, 5, 1), (5, 5, 2), (9.9, 5, 2), (10, 5, 5), (24, 5, 5), (6396, 5, 2000), (0.04, 4, 0.02)],
)
def test_the_smallest_round_step_of_which_fewer_fit(reach: float, most: int, step: float) -> None:
    assert round_step(reach, most) == pytest.approx(step)
    assert reach / step < most
