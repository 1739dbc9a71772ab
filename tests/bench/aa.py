"""Comparisons of identical arms on a real PostgreSQL: the verdicts, and the noise of this machine.

    .venv/bin/python -m tests.bench.aa [--comparisons 20] [--pairs 5] [--seconds 2]

Each comparison measures pgbench select-only twice per pair, A and B in ABBA order, both the same command; the verdict
is that of `benchmarks.analysis`. At least 95 % of the comparisons should show no difference.
"""

import argparse
import os
import re
import subprocess
import tempfile
from pathlib import Path

from benchmarks.analysis import confidence_intervals
from benchmarks.analysis.confidence_intervals import Rule
from panel.quickstart.servers import PostgresServer, free_port
from tests.bench import processes

ROLE, PASSWORD, DATABASE = "app", "app-password", "app"
TPS = re.compile(r"^tps = ([\d.]+)", re.MULTILINE)
CLIENTS, SCALE = 4, 5


def main() -> None:
    """Measure all comparisons and print their verdicts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    asked = parser.parse_args()
    processes.end_all_on_sigterm()
    with tempfile.TemporaryDirectory(prefix="pooldeck-aa-") as folder:
        Path(folder).chmod(0o755)
        with PostgresServer(Path(folder) / "postgres", free_port(), password="superuser") as server:
            server.create_owner_and_database(ROLE, PASSWORD, DATABASE)
            _pgbench(server, "-i", "-q", "-s", str(SCALE))
            _tps(server, asked.seconds)  # warm-up
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


def _tps(server: PostgresServer, seconds: int) -> float:
    printed = _pgbench(server, "-n", "-S", "-c", str(CLIENTS), "-j", "2", "-T", str(seconds))
    found = TPS.search(printed)
    if not found:
        raise SystemExit(f"pgbench printed no tps:\n{printed}")
    return float(found[1])


def _pgbench(server: PostgresServer, *words: str) -> str:
    argv = [str(server.bindir / "pgbench"), "-h", server.host, "-p", str(server.port), "-U", ROLE, *words, DATABASE]
    environment = {**os.environ, "LC_ALL": "C", "PGPASSWORD": PASSWORD}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    return done.stdout


if __name__ == "__main__":
    main()
