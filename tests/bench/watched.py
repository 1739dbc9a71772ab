"""What a thousand viewers cost the run that they watch: its tps with them over its tps without.

    .venv/bin/python -m tests.bench.watched [--pairs 5] [--seconds 20] [--count 1000] [--slow 0.2] [--rate 1000]

Interleaved pairs (alone, watched, watched, alone …) of select-only runs on one installation. The viewers open the
run's stream while it still waits in the queue, so that the whole load is watched. The figure is the geometric mean of
the pair-wise ratios with its 95 % confidence interval; beside it stand the median latencies, and what the viewers
received. With `--rate 0` the load takes all that it gets of the processors, which it then shares with PostgreSQL, the
panel and the process of the viewers: on a machine of two processors that is the largest share that the viewers can
take. Viewers of a real installation run on machines of their own.
"""

import argparse
import os
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.analysis import confidence_intervals
from tests.bench import processes
from tests.bench.fidelity import FINAL
from tests.bench.viewers import Crowd, Seen, Watchers
from tests.installation import Installation

OPENING_S = 10  # of a run before the measured one: the viewers open meanwhile
ROOM = "5000"  # streams that the web process may have, more than the viewers take


class Runs:
    """Runs of one installation, alone or watched."""

    def __init__(self, installation: Installation, crowd: argparse.Namespace) -> None:
        self._api, self._crowd = installation.api, crowd
        self._port = int(installation.url.rpartition(":")[2])
        pool = self._api.get("pools/")["results"][0]
        self._target = {"cluster": pool["cluster"], "database": pool["database"], "user": pool["user"]}

    def measured(self, watched: bool) -> tuple[dict[str, Any], list[Seen]]:
        """Carry out two runs, of which the second is measured; return its summary, and what its viewers saw."""
        self._start(OPENING_S)
        run = self._start(self._crowd.seconds)
        with ExitStack() as stack:
            watchers = stack.enter_context(Watchers(self._viewers_of(run))) if watched else None
            time.sleep(OPENING_S + self._crowd.seconds)  # asking meanwhile would load what is being measured
            run = self._api.wait(f"runs/{run['id']}/", "status", FINAL, 60)
            if run["validity"] != "valid":
                raise SystemExit(f"a run was not valid: {run['status']} {run['reasons']} {run['error']}")
            return run["summary"], watchers.seen() if watchers else []

    def _start(self, seconds: int) -> Any:
        options = {"builtin": "select-only", "clients": 4, "threads": 2, "duration": seconds, "progress": 1}
        if self._crowd.rate:
            options["rate"] = self._crowd.rate
        return self._api.post("runs/", {"target": self._target, "engine": "pgbench", "options": options})

    def _viewers_of(self, run: dict[str, Any]) -> Crowd:
        path, header = f"/api/v1/runs/{run['id']}/events/", f"Authorization: Bearer {self._api.token}"
        return Crowd(self._port, path, header, self._crowd.count, round(self._crowd.count * self._crowd.slow))


def measure(runs: Runs, pairs: int) -> None:
    """Print each pair, and the ratio of all."""
    found: list[tuple[float, float]] = []
    latencies: dict[bool, list[float]] = {False: [], True: []}
    for number in range(pairs):
        tps, lines = {}, [0]
        for watched in (False, True) if number % 2 == 0 else (True, False):
            summary, seen = runs.measured(watched)
            tps[watched] = summary["tps"]
            latencies[watched].append(summary["latency_avg_ms"])
            lines = [len(one.arrived_at) for one in seen] or lines
        found.append((tps[False], tps[True]))
        print(
            f"  pair {number + 1}: alone {tps[False]:9.1f}  watched {tps[True]:9.1f}  "
            f"ratio {tps[True] / tps[False]:.4f}; lines for each viewer {min(lines)} to {max(lines)}",
            flush=True,
        )
    of_all = confidence_intervals.of_pairs(found)
    interval = (
        f"mean ratio {of_all.ratio:.4f} (95 % interval {of_all.low:.4f} to {of_all.high:.4f}), " if of_all else ""
    )
    alone_ms, watched_ms = (statistics.median(latencies[watched]) for watched in (False, True))
    print(f"{interval}median latency {alone_ms:.2f} ms alone, {watched_ms:.2f} ms watched, {pairs} pairs")


def main() -> None:
    """Start an installation and measure."""
    processes.end_all_on_sigterm()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--slow", type=float, default=0.2)
    parser.add_argument("--rate", type=int, default=1000, help="transactions per second; 0: without a limit")
    chosen = parser.parse_args()
    # the process of the viewers works on this host as nobody else of an installation would
    os.environ.update(POOLDECK_STREAMS=ROOM, POOLDECK_STREAMS_PER_TOKEN=ROOM, POOLDECK_CONTENTION_PERCENT="0")
    with (
        tempfile.TemporaryDirectory(prefix="pooldeck-bench-") as folder,
        Installation(Path(folder) / "home") as installation,
    ):
        measure(Runs(installation, chosen), chosen.pairs)


if __name__ == "__main__":
    main()
