"""Figures of a server from two of its answers."""

from typing import Any

import pytest

from benchmarks.runs.observers.server import COUNTS, DONE, RATES, figures, statement


def answer(at_s: float = 0.0, counted: int = 0, **columns: Any) -> dict[str, Any]:
    """What the statement gives: each counter at the same height."""
    return {"at_s": at_s, "waits": {}, "states": {}, **dict.fromkeys((*RATES, *COUNTS, *DONE), counted), **columns}


def test_the_first_look_tells_sessions_only():
    now = answer(waits={"CPU": 2, "IO:DataFileRead": 1}, states={"active": 3, "idle": 4})
    assert figures(None, now) == {
        "waits": {"CPU": 2, "IO:DataFileRead": 1},
        "states": {"active": 3, "idle": 4},
    }


def test_what_counters_grew_by_is_told_by_the_second():
    found = figures(
        answer(10.0, 100), answer(12.0, 150, checkpoints_timed=101, checkpoints_requested=100, checkpoints_work=101)
    )
    assert {name: found[f"{name}_per_s"] for name in RATES} == dict.fromkeys(RATES, 25.0)
    assert (found["checkpoints_timed"], found["checkpoints_requested"]) == (1, 0)


def test_a_counter_that_shrank_or_is_missing_tells_nothing():
    before, now = answer(10.0, 100), answer(11.0, 200, wal_bytes=5, checkpoints_timed=0)
    del before["read_bytes"], now["read_bytes"]
    found = figures(before, now)
    assert (found["wal_bytes_per_s"], found["checkpoints_timed"]) == (None, 0)
    assert "read_bytes_per_s" not in found
    assert found["commits_per_s"] == 100.0


def test_a_standby_writes_no_wal():
    found = figures(answer(1.0, 1, wal_bytes=None), answer(2.0, 2, wal_bytes=None))
    assert found["wal_bytes_per_s"] is None


def test_the_many_rare_waits_are_told_together():
    waits = {f"LWLock:L{number:02}": 20 - number for number in range(15)}
    kept = figures(None, answer(waits=waits))["waits"]
    assert len(kept) == 13
    assert (kept["LWLock:L00"], kept["LWLock:L11"], kept["others"]) == (20, 9, 8 + 7 + 6)


def test_each_version_is_asked_for_the_views_it_has():
    views = ("pg_stat_bgwriter", "pg_stat_checkpointer", "pg_stat_wal)", "pg_current_wal_lsn", "pg_stat_io", "op_bytes")
    known = {version: {view for view in views if view in statement(version * 10_000)} for version in (13, 15, 16, 18)}
    assert known == {
        13: {"pg_stat_bgwriter", "pg_current_wal_lsn"},
        15: {"pg_stat_bgwriter", "pg_stat_wal)"},
        16: {"pg_stat_bgwriter", "pg_stat_wal)", "pg_stat_io", "op_bytes"},
        18: {"pg_stat_checkpointer", "pg_stat_wal)", "pg_stat_io"},
    }


def checkpointer(timed: int, requested: int, buffers: int, write_ms: float, sync_ms: float, done: int | None) -> Any:
    """What a version's view said, as the statement sums it up."""
    counted = {"checkpoints_timed": timed, "checkpoints_requested": requested}
    return answer(**counted, checkpoints_work=buffers + write_ms + sync_ms, checkpoints_done=done)


# (checkpoints_timed, _requested, buffers, write and sync time in ms, num_done) as 15.18 and 18.4 said them
SKIPPED_15, SKIPPED_18 = (
    [(0, 1, 19, 7.0, 18.0, None), (1, 1, 19, 7.0, 18.0, None)],
    [(0, 1, 20, 29.0, 27.0, 1), (1, 1, 20, 29.0, 27.0, 1)],
)
BEGUN_15, BEGUN_18 = (
    [(2, 2, 926, 60.0, 142.0, None), (3, 2, 961, 60.0, 142.0, None)],
    [(2, 2, 927, 71.0, 116.0, 2), (3, 2, 947, 71.0, 116.0, 2)],
)
ASKED_15, ASKED_18 = (
    [(2, 1, 19, 7.0, 18.0, None), (2, 2, 926, 60.0, 142.0, None)],
    [(2, 1, 20, 29.0, 27.0, 1), (2, 2, 927, 71.0, 116.0, 2)],
)
WITH_NOTHING_TO_WRITE_18 = [(2, 1, 20, 29.0, 27.0, 1), (2, 2, 20, 29.0, 27.0, 2)]


@pytest.mark.parametrize(
    ("answers", "timed", "requested"),
    [
        (SKIPPED_15, 0, 0),
        (SKIPPED_18, 0, 0),
        (BEGUN_15, 1, 0),
        (BEGUN_18, 1, 0),
        (ASKED_15, 0, 1),
        (ASKED_18, 0, 1),
        (WITH_NOTHING_TO_WRITE_18, 0, 1),
    ],
)
def test_a_checkpoint_counts_when_it_begins_and_one_that_is_skipped_does_not(answers, timed, requested):
    before, now = (checkpointer(*one) for one in answers)
    found = figures(before, now | {"at_s": 1.0})
    assert (found["checkpoints_timed"], found["checkpoints_requested"]) == (timed, requested)
