"""What a run costs beside its load: processor time of the panel's processes, at rest, for its start, seconds and end.

    .venv/bin/python -m tests.bench.cost [--seconds 20] [--runs 3] [--builtin select-only] [--pooled] [--home HOME]

The load is one of pgbench's built-in scripts against the demo's cluster, or through its pool. Of each of the panel's
programs stands the processor time in ms that a run takes beyond a second at rest: its start (from the request to
pgbench's start), the load's first seconds, in which what is observed is listed, a later second, and its end (the last
seconds and what follows pgbench's end). Processor time is what a busy machine leaves steady; the medians of the runs
are printed. What the worker of tasks and beat take is that of their schedule and differs from second to second, so it
stands in the table but is left out of the sum. `--home` is that of an installation that runs already.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench import processes
from tests.installation import Api, Installation

REST_S = 60.0  # beat sends each of its frequent tasks once in it
FIRST_S = 3.0  # in which the observers list all processes again and again
LAST_S = 2.0
ENDS_WITHIN_S = 60.0
FINAL = {"succeeded", "failed", "cancelled", "timed_out", "lost"}
PHASES = ("start", "first", "second", "end")
LOOK_S = 0.02
SCHEDULED = ("worker", "beat")

Times = Counter[str]  # processor seconds by the name of a program


@contextmanager
def installed(home: str) -> Iterator[tuple[Api, int]]:
    """An API and the pid of the installation's first process."""
    if home:
        known = json.loads((Path(home) / "quickstart.json").read_text())
        yield Api(known["url"], known["token"]), json.loads((Path(home) / "lock").read_text())["pid"]
        return
    with (
        tempfile.TemporaryDirectory(prefix="pooldeck-bench-") as folder,
        Installation(Path(folder) / "home") as installation,
    ):
        yield installation.api, installation.process.pid


def since(before: Times, after: Times) -> Times:
    """Processor seconds between two readings; a process that ended counts until its last reading."""
    return Counter({name: after[name] - before[name] for name in after if after[name] > before[name]})


def per_second(times: Times, seconds: float) -> Times:
    """The same for each second."""
    return Counter({name: spent / seconds for name, spent in times.items()})


def at_rest(pid: int) -> Times:
    """What the processes take in a second without a run."""
    before = processes.cpu_by_program(pid)
    began = time.monotonic()
    time.sleep(REST_S)
    return per_second(since(before, processes.cpu_by_program(pid)), time.monotonic() - began)


def wait_for_load(pid: int, *, on: bool) -> float:
    """The time at which pgbench began or ended."""
    deadline = time.monotonic() + ENDS_WITHIN_S
    while processes.is_loaded(pid) is not on:
        if time.monotonic() > deadline:
            raise SystemExit(f"pgbench did not {'start' if on else 'end'} within {ENDS_WITHIN_S:.0f} s")
        time.sleep(LOOK_S)
    return time.monotonic()


class Meter:
    """Readings of the programs' processor seconds, of which each phase is the difference of two."""

    def __init__(self, pid: int, rest: Times) -> None:
        self._pid, self._rest = pid, rest
        self._readings: list[tuple[float, Times]] = []

    def read(self) -> None:
        """Take the next reading."""
        self._readings.append((time.monotonic(), processes.cpu_by_program(self._pid)))

    def phase(self, number: int) -> tuple[Times, float]:
        """What was taken beyond the rest between a reading and the next, and the seconds between them."""
        (began, before), (ended, after) = self._readings[number : number + 2]
        spent = since(before, after)
        return Counter({name: spent[name] - self._rest[name] * (ended - began) for name in after}), ended - began


def measure(api: Api, pid: int, request: dict[str, object], rest: Times, seconds: int) -> dict[str, Times]:
    """What one run took of each program in each phase, beyond what it takes at rest."""
    meter = Meter(pid, rest)
    meter.read()
    run = api.post("runs/", request)
    wait_for_load(pid, on=True)
    for wait_s in (0.0, FIRST_S, seconds - FIRST_S - LAST_S):
        time.sleep(wait_s)
        meter.read()
    wait_for_load(pid, on=False)
    time.sleep(LAST_S)
    meter.read()
    run = api.get(f"runs/{run['id']}/")
    if run["status"] != "succeeded":
        raise SystemExit(f"a run ended as {run['status']}: {run['error']}")
    phases = [meter.phase(number) for number in range(len(PHASES))]
    found = dict(zip(PHASES, (times for times, _ in phases), strict=True))
    whole: Times = Counter()
    for times, _ in phases:
        whole.update(times)
    return found | {"second": per_second(*phases[2]), "whole": whole}


def report(rest: Times, runs: list[dict[str, Times]], seconds: int) -> None:
    """Print the table, and the share of a core that a run of this length takes."""
    columns = ("rest", *PHASES, "whole")
    print(
        f"{'processor ms':24}{'rest, 1 s':>10}{'start':>9}{f'first {FIRST_S:.0f} s':>11}{'1 s':>8}{'end':>8}{'run':>8}"
    )
    total: Counter[str] = Counter()
    for name in sorted(rest.keys() | {name for run in runs for times in run.values() for name in times}):
        found = {phase: statistics.median(run[phase][name] for run in runs) * 1000 for phase in columns[1:]}
        found["rest"] = rest[name] * 1000
        if name not in SCHEDULED:
            total.update(found)
        _print_row(name, [found[column] for column in columns])
    _print_row("all", [total[column] for column in columns])
    share = total["whole"] / 10 / seconds
    print(f"{share:.2f} % of a core beyond rest, start and end among it; {len(runs)} runs of {seconds} s")


def _print_row(name: str, figures: list[float]) -> None:
    rest, start, first, second, end, whole = figures
    print(f"{name:24}{rest:10.1f}{start:9.0f}{first:11.0f}{second:8.1f}{end:8.0f}{whole:8.0f}")


def main() -> None:
    """Measure the runs and print the table."""
    processes.end_all_on_sigterm()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--builtin", choices=["select-only", "tpcb-like"], default="select-only")
    parser.add_argument("--pooled", action="store_true")
    parser.add_argument("--home", default="")
    asked = parser.parse_args()
    with installed(asked.home) as (api, pid):
        pool = api.get("pools/")["results"][0]
        direct = {"cluster": pool["cluster"], "database": pool["database"], "user": pool["user"]}
        options = {"builtin": asked.builtin, "clients": 4, "threads": 2, "duration": asked.seconds, "progress": 1}
        target = {"pool": pool["id"]} if asked.pooled else direct
        request: dict[str, object] = {"target": target, "engine": "pgbench", "options": options}
        rest = at_rest(pid)
        report(rest, [measure(api, pid, request, rest, asked.seconds) for _ in range(asked.runs)], asked.seconds)


if __name__ == "__main__":
    main()
