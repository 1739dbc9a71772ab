"""kill -9 of each of script/up's programs in turn: how long until all answers again, and what it did to runs.

    python -m tests.bench.restarts [--rounds 10]

A run through the demo's pool goes on at each kill. A run must come to one end, in one attempt, and nothing that the
killed program had started may outlive it.
"""

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from panel.quickstart.ports import free_port
from tests.bench.processes import end_all_on_sigterm
from tests.installation import Installation, Refused
from tests.programs import HEADS, below, heads, processes

ENDED = {"succeeded", "failed", "lost", "cancelled", "timed_out"}
BACK_WITHIN_S = 60.0
APART_S = 3.0  # pause between a program's return and the next kill


def answers(installation: Installation, uri: str) -> bool:
    """Whether web, Redis, both workers, the pool and its server do."""
    try:
        urllib.request.urlopen(f"{installation.url}/healthz/ready", timeout=2).close()
        with psycopg.connect(uri, connect_timeout=2) as client:
            client.execute("SELECT 1")
    except (OSError, urllib.error.URLError, psycopg.Error):
        return False
    return True


def until(is_so: Callable[[], bool], within_s: float) -> None:
    """Wait; fails at the deadline."""
    begun = time.monotonic()
    while not is_so():
        if time.monotonic() - begun > within_s:
            raise AssertionError(f"not so within {within_s} s")
        time.sleep(0.05)


def kill(installation: Installation, name: str, uri: str) -> tuple[float, set[int]]:
    """Seconds until all answered again, and what was left of the killed program."""
    pid, begun = heads(installation)[name], time.monotonic()
    its_own = {pid, *below(pid)}
    os.kill(pid, signal.SIGKILL)
    until(lambda: heads(installation).get(name, pid) != pid, BACK_WITHIN_S)
    until(lambda: answers(installation, uri), BACK_WITHIN_S)
    return time.monotonic() - begun, its_own & set(processes())


def start_run(installation: Installation, pool: str) -> dict[str, Any]:
    """A run of six seconds; asked for again while a server is on its way up."""
    deadline = time.monotonic() + 30
    asked = {"target": {"pool": pool}, "options": {"duration": 6, "clients": 1}}
    while True:
        try:
            made: dict[str, Any] = installation.api.post("runs/", asked)
            return made
        except Refused as refused:
            if refused.status not in (409, 502, 503) or time.monotonic() > deadline:
                raise
        time.sleep(0.2)


def measure(installation: Installation, rounds: int) -> int:
    """Print the table; the number of faults."""
    (pool,) = [one for one in installation.api.get("pools/")["results"] if one["name"] == "app"]
    uri = installation.api.get(f"pools/{pool['id']}/connection/?as=uri&reveal=1")["text"]
    back: defaultdict[str, list[float]] = defaultdict(list)
    ends: defaultdict[str, Counter[str]] = defaultdict(Counter)
    orphans: Counter[str] = Counter()
    runs: list[dict[str, Any]] = []
    for number in range(rounds):
        for name in sorted(HEADS):
            run = start_run(installation, pool["id"])
            time.sleep(2)
            seconds, left = kill(installation, name, uri)
            back[name].append(seconds)
            orphans[name] += len(left)
            done = installation.api.wait(f"runs/{run['id']}/", "status", ENDED, 90)
            ends[name][done["status"]] += 1
            runs.append(done)
            time.sleep(APART_S)
            print(f"round {number + 1}: {name} back after {back[name][-1]:.1f} s, run {done['status']}", flush=True)
    doubled = sum(run["attempt"] > 1 for run in runs)
    print("\n| program | back, median s | longest s | orphans | its runs |\n|---|---|---|---|---|")
    for name, times in back.items():
        reported = ", ".join(f"{count} {status}" for status, count in sorted(ends[name].items()))
        print(f"| {name} | {statistics.median(times):.1f} | {max(times):.1f} | {orphans[name]} | {reported} |")
    print(f"\n{len(runs)} runs, {doubled} in more than one attempt")
    return doubled + sum(orphans.values()) + sum(max(times) > 10 for times in back.values())


def main() -> int:
    """0 where every program was back within 10 s, no run ran twice and nothing was left behind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    end_all_on_sigterm()
    with tempfile.TemporaryDirectory() as home, Installation(Path(home), "--port", str(free_port())) as started:
        return 1 if measure(started, options.rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
