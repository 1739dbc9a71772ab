"""How far `pgbench -i` is, and how much room its tables will take; pure."""

from benchmarks.engines.pgbench.lines import InitDone, InitPhase, InitProgress, Line

# Seconds of each phase at scale 100 on a local server and in published outputs of 13, 14 and 18, as parts of a whole.
_WEIGHTS = {"d": 1, "t": 1, "g": 66, "G": 66, "v": 8, "p": 24, "f": 12}
_ACCOUNTS = "pgbench_accounts"
FIXED_BYTES = 0
BYTES_PER_SCALE = 15_000_000


def percent(event: Line, steps: str = "dtgvp") -> float | None:
    """How far the whole is, 0 to 100, at this line; None where the line does not tell.

    pgbench counts rows only while it generates them; the other phases count by their usual share of the time.
    17 and later count the small tables' rows too, which say nothing of the whole.
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
    """The percentage of the time that some of these steps take."""
    return round(100 * sum(map(_WEIGHTS.__getitem__, some)) / sum(map(_WEIGHTS.__getitem__, steps)), 1)


def estimated_bytes(scale: int) -> int:
    """The size of the four tables and their keys at this scale, before anything is written to them."""
    return FIXED_BYTES + BYTES_PER_SCALE * scale
