"""How far the preparation of a dataset is, from lines really printed."""

from pathlib import Path

import pytest

from benchmarks.engines.pgbench.initialize import estimated_bytes, percent
from benchmarks.engines.pgbench.lines import Notice, read_line
from tests.benchmarks.engines.pgbench import captured

INITS = [path for path in captured.paths("init*") if captured.read(path).exit_code == 0]


@pytest.mark.parametrize("path", INITS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_percentage_of_a_real_preparation_only_grows_and_ends_at_100(path: Path) -> None:
    taken = captured.read(path)
    words = taken.command.split()
    steps = words[words.index("-I") + 1] if "-I" in words else "dtgvp"
    found = [percent(read_line(line), steps) for line in taken.stderr.splitlines()]
    described = [value for value in found if value is not None]
    assert described == sorted(described)
    assert (described[0], described[-1]) == (0.0, 100.0)
    assert len(described) > 3


@pytest.mark.parametrize(
    ("line", "steps", "expected"),
    [
        ("creating tables...", "dtgvp", 1.0),
        ("generating data (client-side)...", "dtgvp", 2.0),
        ("50000 of 100000 tuples (50%) done (elapsed 0.06 s, remaining 0.25 s)", "dtgvp", 34.5),
        ("100000 of 100000 tuples (100%) of pgbench_accounts done (elapsed 0.06 s, remaining 0.25 s)", "dtgvp", 67.0),
        ("100000 of 100000 tuples (100%) of pgbench_tellers done (elapsed 0.06 s, remaining 0.25 s)", "dtgvp", None),
        ("vacuuming...", "dtgvp", 67.0),
        ("creating primary keys...", "dtgvp", 70.0),
        ("creating primary keys...", "tgp", 68.8),
        ("creating foreign keys...", "dtgvp", None),
        ("50000 of 100000 tuples (50%) done (elapsed 0.06 s, remaining 0.25 s)", "g", 50.0),
        ("done.", "dtgvp", 100.0),
    ],
)
def test_a_line_tells_how_far_the_whole_is(line: str, steps: str, expected: float | None) -> None:
    assert percent(read_line(line), steps) == expected


def test_other_lines_tell_nothing() -> None:
    assert percent(Notice("HINT: none")) is None


@pytest.mark.parametrize(
    ("scale", "measured"), [(1, 15_843_328), (10, 156_966_912), (50, 784_179_200)], ids=["1", "10", "50"]
)
def test_the_estimated_size_is_what_15_and_18_took(scale: int, measured: int) -> None:
    assert estimated_bytes(scale) == pytest.approx(measured, rel=0.02)


def test_a_lower_fill_factor_takes_more_room() -> None:
    assert estimated_bytes(10, 50) - estimated_bytes(10) == 10 * 13_435_000
