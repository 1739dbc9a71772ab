"""What the pages of runs write beside the panel's own filters."""

import pytest

from benchmarks.templatetags import figures


@pytest.mark.parametrize(
    ("value", "written"),
    [(None, "–"), (0, "×0.00"), (0.00921, "×0.0092"), (0.0000121, "×0.000012"), (0.564, "×0.56"), (12.74, "×12.7")],
)
def test_ratios_keep_two_figures_at_least(value: float | None, written: str) -> None:
    assert figures.ratio(value) == written
