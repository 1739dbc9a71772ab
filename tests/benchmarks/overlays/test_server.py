"""Figures of a server from two of its answers."""

from typing import Any

from benchmarks.overlays.server import COUNTS, RATES, figures
from benchmarks.overlays.server_statement import statement


def answer(at_s: float = 0.0, counted: int = 0, **columns: Any) -> dict[str, Any]:
    """What the statement gives: each counter at the same height."""
    return {"at_s": at_s, "waits": {}, "states": {}, **dict.fromkeys((*RATES, *COUNTS), counted), **columns}


def test_the_first_look_tells_sessions_only():
    now = answer(waits={"CPU": 2, "IO:DataFileRead": 1}, states={"active": 3, "idle": 4})
    assert figures(None, now) == {
        "waits": {"CPU": 2, "IO:DataFileRead": 1},
        "states": {"active": 3, "idle": 4},
    }


def test_what_counters_grew_by_is_told_by_the_second():
    found = figures(answer(10.0, 100), answer(12.0, 150, checkpoints_timed=101, checkpoints_requested=100))
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
