"""Many rate-limited runs at once: whether a sample is lost, how late they are, and what a run costs its worker.

    .venv/bin/python -m tests.bench.many [--runs 20] [--seconds 20] [--rate 50] [--generators 4]

The runs go alongside each other to one cluster, from workers of several names beside the installation's own. What is
expected are the progress lines that pgbench printed, by the run's log; what is stored are its samples.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.bench import processes
from tests.installation import Api, Installation
from tests.workers import workers

FINAL = {"succeeded", "failed", "cancelled", "timed_out", "lost"}


def samples_of(api: Api, run_id: str) -> list[dict[str, Any]]:
    """All samples of a run, page by page."""
    rows: list[dict[str, Any]] = []
    page = 1
    while True:
        answer = api.get(f"runs/{run_id}/samples/?page_size=200&page={page}")
        rows += answer["results"]
        if not answer["next"]:
            return rows
        page += 1


def measure(installation: Installation, count: int, seconds: int, rate: int, generators: int) -> bool:
    """Print the figures; whether every sample was kept."""
    api = installation.api
    pool = api.get("pools/")["results"][0]
    target = {"cluster": pool["cluster"], "database": pool["database"], "user": pool["user"]}
    options = {"builtin": "select-only", "clients": 1, "threads": 1, "duration": seconds, "rate": rate, "progress": 1}
    names = [f"generator-{number}" for number in range(1, generators + 1)]
    with workers(installation, names, -(-count // generators)) as started:
        before_s = sum(processes.panel_cpu_s(worker.pid) for worker in started)
        bodies = [
            {"target": target, "options": options, "generators": [names[at % generators]], "alongside": True}
            for at in range(count)
        ]
        runs = [api.post("runs/", body) for body in bodies]
        time.sleep(seconds)
        runs = [api.wait(f"runs/{run['id']}/", "status", FINAL, seconds + 120) for run in runs]
        taken_s = sum(processes.panel_cpu_s(worker.pid) for worker in started) - before_s
    return report(api, runs, taken_s, seconds)


def report(api: Api, runs: list[dict[str, Any]], taken_s: float, seconds: int) -> bool:
    """Print what was expected, stored and spent; whether nothing is missing."""
    printed, stored, together = 0, 0, overlap_s(runs)
    for run in runs:
        lines = api.get(f"runs/{run['id']}/log/")["stderr"].splitlines()
        expected = [float(line.split()[1]) for line in lines if line.startswith("progress:")]
        kept = [sample["t"] for sample in samples_of(api, run["id"])]
        if kept != expected:
            print(f"run {run['number']}: missing {set(expected) - set(kept)}, too many {set(kept) - set(expected)}")
        printed, stored = printed + len(expected), stored + len(kept)
    states = sorted({f"{run['status']} {run['validity']}" for run in runs})
    reached = [run["summary"]["tps"] for run in runs if run["summary"]["tps"]]
    print(f"{len(runs)} runs of {seconds} s, all at work together for {together:.0f} s: {', '.join(states)}")
    print(f"samples: {printed} printed, {stored} stored; tps {statistics.median(reached):.1f} (median of the runs)")
    print(f"workers: {taken_s / len(runs) / seconds:.2%} of one processor a run, its start and end included")
    for reason in sorted({reason for run in runs for reason in [*run["reasons"], run["error"]] if reason})[:5]:
        print(f"  {reason}")
    return printed == stored


def overlap_s(runs: list[dict[str, Any]]) -> float:
    """For how long all of them were at work."""
    begun = max(time.mktime(time.strptime(run["started_at"][:19], "%Y-%m-%dT%H:%M:%S")) for run in runs)
    ended = min(time.mktime(time.strptime(run["finished_at"][:19], "%Y-%m-%dT%H:%M:%S")) for run in runs)
    return max(0.0, ended - begun)


def main() -> None:
    """Start an installation and measure."""
    processes.end_all_on_sigterm()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rate", type=int, default=50)
    parser.add_argument("--generators", type=int, default=4)
    chosen = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="pooldeck-bench-") as folder,
        Installation(Path(folder) / "home") as installation,
    ):
        kept = measure(installation, chosen.runs, chosen.seconds, chosen.rate, chosen.generators)
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
