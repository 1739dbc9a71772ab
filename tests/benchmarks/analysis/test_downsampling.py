"""What is left of long series, and what is not lost."""

from operator import itemgetter

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.downsampling import thinned

SERIES = st.lists(st.floats(-1e6, 1e6) | st.none(), max_size=300)


def drawn(values, at_most):
    rows = [(float(t), value) for t, value in enumerate(values)]
    return rows, thinned(rows, at_most, t=itemgetter(0), value=itemgetter(1))


def test_thinning_keeps_order_peaks_and_dips():
    values = [100.0] * 1000
    values[333], values[777] = 9000.0, 0.0
    _, kept = drawn(values, 100)
    assert len(kept) == 100
    assert kept == sorted(kept)
    assert {(333.0, 9000.0), (777.0, 0.0)} <= set(kept)


def test_few_rows_are_not_thinned():
    rows, kept = drawn([None, 3.0, 4.0], 3)
    assert kept is rows


@given(SERIES, st.integers(3, 50))
def test_what_is_left_are_rows_in_order_with_both_ends(values, at_most):
    rows, kept = drawn(values, at_most)
    assert len(kept) == min(len(rows), at_most)
    assert [t for t, _ in kept] == sorted({t for t, _ in kept})
    assert set(kept) <= set(rows)
    assert kept[:1] + kept[-1:] == rows[:1] + rows[-1:]
