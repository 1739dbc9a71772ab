"""Progress of `pgbench -i`, and the disk space of its tables; pure."""

from benchmarks.engines.pgbench.lines import InitDone, InitPhase, InitProgress, Line

# Each phase's usual share of the time: measured with 15.18 and 18.4 at scale 50 (generate 63 %, vacuum 3 %, keys
# 33 %), close to published outputs of 13 and 18; foreign keys are read from the manual's description, not measured.
_WEIGHTS = {"d": 1, "t": 1, "g": 65, "G": 65, "v": 3, "p": 30, "f": 10}
_ACCOUNTS = "pgbench_accounts"
ACCOUNTS_PER_SCALE = 100_000  # pgbench's manual, --scale
# Measured alike with 15.18 and 18.4: 15,843,328 bytes at scale 1, 156,966,912 at 10 and 784,179,200 at 50, of which
# pgbench_accounts' rows take 13,434,880 (1640 pages) a scale.
_FIXED_BYTES, _ROW_BYTES, _KEY_BYTES = 165_000, 13_435_000, 2_246_000


def percent(event: Line, steps: str = "dtgvp") -> float | None:
    """Return the progress of the whole preparation at this line, 0 to 100; None where the line has none.

    pgbench counts rows only while it generates them; the other phases count by their usual share of the time. 17 and
    later count the small tables' rows too, which are no measure of the whole.
    """
    match event:
        case InitDone():
            return 100.0
        case InitPhase(step=step) if step in steps:
            return _share(steps[: steps.index(step)], steps)
        case InitProgress(done=done, total=total, table=table) if total and table in ("", _ACCOUNTS):
            before = _share(steps.split("g")[0], steps)
            return round(before + _share("g", steps) * min(done / total, 1.0), 1)
        case _:
            return None


def _share(some: str, steps: str) -> float:
    """Return the percentage of the time that these steps take."""
    return round(100 * sum(map(_WEIGHTS.__getitem__, some)) / sum(map(_WEIGHTS.__getitem__, steps)), 1)


def estimated_bytes(scale: int, fillfactor: int | None = None) -> int:
    """Return the size of the four tables and their keys at this scale, before any write (within 2 %)."""
    return _FIXED_BYTES + scale * (_ROW_BYTES * 100 // (fillfactor or 100) + _KEY_BYTES)
