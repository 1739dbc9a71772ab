"""Comparisons of identical arms on a real PostgreSQL: the verdicts, and the noise of this machine.

    .venv/bin/python -m tests.bench.aa [--comparisons 20] [--pairs 5] [--seconds 2]
    .venv/bin/python -m tests.bench.aa --series 120 --csv FILE [--seconds 4]

Each comparison measures pgbench select-only twice per pair, A and B in ABBA order, both the same command; the verdict
is that of `benchmarks.analysis`. At least 95 % of the comparisons should show no difference.

A series is no comparison: so many equal runs directly and through a PgBouncer, in turn, each with its time and the
load of the machine before it, written to FILE. `tests.bench.evidence.nights` takes its noise from such a file.
"""

import argparse
import csv
import os
import re
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.analysis import confidence_intervals
from benchmarks.analysis.confidence_intervals import Rule
from panel.quickstart.servers import PgBouncerServer, PostgresServer, free_port, newest_postgresql
from tests.bench import login, processes

ROLE, PASSWORD, DATABASE = "app", "app-password", "app"
TPS = re.compile(r"^tps = ([\d.]+)", re.MULTILINE)
CLIENTS, SCALE = 4, 5


def main() -> None:
    """Measure all comparisons and print their verdicts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--series", type=int, default=0)
    parser.add_argument("--csv", type=Path, help="the file of a series")
    asked = parser.parse_args()
    processes.end_all_on_sigterm()
    with tempfile.TemporaryDirectory(prefix="pooldeck-aa-") as folder:
        Path(folder).chmod(0o755)
        with PostgresServer(Path(folder) / "postgres", free_port(), password="superuser") as server:
            server.create_owner_and_database(ROLE, PASSWORD, DATABASE)
            _pgbench(server, "-i", "-q", "-s", str(SCALE))
            _tps(server, asked.seconds)  # warm-up
            if asked.series:
                record(server, Path(folder), asked.csv or Path("series.csv"), asked.series, asked.seconds)
                return
            report([_pairs(server, asked.pairs, asked.seconds, at) for at in range(asked.comparisons)])


def report(comparisons: list[list[tuple[float, float]]]) -> None:
    """Print how many comparisons show no difference, by the interval alone and with the tie band, and the noise."""
    found = [one for pairs in comparisons if (one := confidence_intervals.of_pairs(pairs))]
    alone = sum(one.low <= 1 <= one.high for one in found)
    tied = sum(one.is_tie(Rule()) for one in found)
    noise = confidence_intervals.repeatability([arm for pairs in comparisons for arm in zip(*pairs, strict=True)])
    print(f"no difference shown: {tied} of {len(found)}; the interval alone contains 1 in {alone} of {len(found)}")
    print(f"repeats of one arm vary by ±{noise or 0:.1%} (standard deviation within a comparison)")
    print(f"load average of this machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


def record(server: PostgresServer, folder: Path, file: Path, count: int, seconds: int) -> None:
    """Measure a series, directly and through a PgBouncer in turn, and write it as CSV."""
    pooler = PgBouncerServer(folder / "pgbouncer", free_port(), "pooldeck", "console-password")
    with pooler, file.open("w", newline="") as written:
        login.configure(pooler, server, "SCRAM, clear")
        _tps(server, seconds, pooler)  # warm-up
        rows = csv.writer(written)
        rows.writerow(["began_at", "path", "tps", "load"])
        for at in range(2 * count):
            is_pooled = at % 4 in (1, 2)  # direct, pooled, pooled, direct
            began_at, load = datetime.now(UTC).isoformat(timespec="seconds"), os.getloadavg()[0]
            tps = _tps(server, seconds, pooler if is_pooled else server)
            rows.writerow([began_at, "pooled" if is_pooled else "direct", f"{tps:.1f}", f"{load:.1f}"])
            written.flush()


def _pairs(server: PostgresServer, count: int, seconds: int, number: int) -> list[tuple[float, float]]:
    """Measure one comparison in ABBA order and print its verdict."""
    found = []
    for pair in range(count):
        early, late = _tps(server, seconds), _tps(server, seconds)
        found.append((late, early) if pair % 2 else (early, late))
    if interval := confidence_intervals.of_pairs(found):
        verdict = "no difference shown" if interval.is_tie(Rule()) else "DIFFERENCE"
        ends = f"×{interval.ratio:.3f} (×{interval.low:.3f} to ×{interval.high:.3f})"
        print(f"  {number + 1:3}: {ends}  {verdict}", flush=True)
    return found


def _tps(server: PostgresServer, seconds: int, through: PgBouncerServer | PostgresServer | None = None) -> float:
    printed = _pgbench(through or server, "-n", "-S", "-c", str(CLIENTS), "-j", "2", "-T", str(seconds))
    found = TPS.search(printed)
    if not found:
        raise SystemExit(f"pgbench printed no tps:\n{printed}")
    return float(found[1])


def _pgbench(server: PgBouncerServer | PostgresServer, *words: str) -> str:
    argv = [
        str(newest_postgresql() / "pgbench"),
        "-h",
        server.host,
        "-p",
        str(server.port),
        "-U",
        ROLE,
        *words,
        DATABASE,
    ]
    environment = {**os.environ, "LC_ALL": "C", "PGPASSWORD": PASSWORD}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    return done.stdout


if __name__ == "__main__":
    main()
