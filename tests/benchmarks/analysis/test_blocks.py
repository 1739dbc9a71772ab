"""Contention judged per block."""

from dataclasses import replace

import pytest

from benchmarks.analysis import blocks
from benchmarks.analysis.conclusions import Outcome
from benchmarks.analysis.subjects import Subject


def a_run(group: str, taken: float | None, *, suspect: bool | None = None) -> Subject:
    """A run beside which others took so much; above a quarter of the host that alone makes it suspect."""
    is_suspect = (taken or 0) > 25 if suspect is None else suspect
    outcome = Outcome.SUSPECT if is_suspect else Outcome.SUCCEEDED
    options: dict[str, object] = {"options": {}, "summary": {"tps": 1.0}, "engine": "pgbench", "target": "here"}
    about = {"contention": taken, "is_only_contended": is_suspect and suspect is None}
    return Subject(id="1", number=1, endpoint_kind="direct", outcome=outcome, group=group, **options, **about)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("taken", "counts", "spoiled"),
    [
        ((5.0, 8.0), [True, True], []),
        ((40.0, 45.0), [True, True], []),  # all arms saw alike
        ((24.0, 30.0), [True, True], []),
        ((5.0, 40.0), [True, False], ["1"]),
        ((30.0, 60.0), [False, False], ["1"]),
        ((0.0, 24.0), [True, True], []),  # neither is suspect by itself
        ((None, 40.0), [True, True], []),
    ],
)
def test_a_block_whose_arms_saw_alike_contention_is_kept(taken, counts, spoiled) -> None:
    block = [a_run("1", one) for one in taken]
    assert [run.counts for run in blocks.judged(block)] == counts
    assert blocks.contended(blocks.judged(block)) == spoiled


def test_each_block_is_judged_by_itself_and_another_doubt_stays() -> None:
    runs = [a_run("1", 40.0), a_run("2", 5.0), a_run("1", 41.0), a_run("2", 50.0), a_run("3", 40.0, suspect=True)]
    found = blocks.judged(runs)
    assert [run.counts for run in found] == [True, True, True, False, False]
    assert blocks.contended(found) == ["2"]


def test_a_refused_arm_says_nothing_of_what_others_took() -> None:
    refused = replace(a_run("1", 2.0), outcome=Outcome.REFUSED)
    assert [run.counts for run in blocks.judged([refused, a_run("1", 40.0)])] == [False, True]
