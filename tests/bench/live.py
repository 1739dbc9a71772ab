"""How fresh the live chart is: from pgbench printing a progress line to the point standing in the browser's chart.

    .venv/bin/python -m tests.bench.live [--seconds 30] [--runs 3]

pgbench is started through a relay that notes the time at which each progress line left it; a reader of the run's
stream in Redis notes when it was published there, a wrapper of the page's EventSource when the page got it, and the
page tells by its `pooldeck:sample` event when the point was drawn. All clocks are this machine's.

Of each leg of the way stands its delay, in all runs' first points too, and what the programs on it took of a processor
for each point (all else that they do meanwhile among it) and how long they were ready without getting one: on a busy
machine that wait is the delay, and only the processor time tells what the mechanism itself costs.
"""

import argparse
import json
import os
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
from playwright.sync_api import Page, sync_playwright

from tests.bench import processes
from tests.bench.processes import Scheduled
from tests.chromium import launch
from tests.installation import Installation

RELAY = """#!{python}
import os, subprocess, sys, time
if "--version" in sys.argv:
    os.execv({pgbench!r}, [{pgbench!r}, *sys.argv[1:]])
child = subprocess.Popen([{pgbench!r}, *sys.argv[1:]], stderr=subprocess.PIPE)
log = os.open({log!r}, os.O_WRONLY | os.O_APPEND)
while line := child.stderr.readline():
    now = time.time()
    os.write(2, line)
    if line.startswith(b"progress: "):
        os.write(log, b"%r %s\\n" % (now, line.split()[1]))
sys.exit(child.wait())
"""

LISTEN = """
  window.drawn = [];
  window.arrived = [];
  const clock = () => performance.timeOrigin + performance.now();
  const { addEventListener } = EventSource.prototype;
  EventSource.prototype.addEventListener = function (kind, listener, ...more) {
    const noting = (event) => {
      if (kind === "sample") window.arrived.push([JSON.parse(event.data).t, clock()]);
      listener(event);
    };
    return addEventListener.call(this, kind, noting, ...more);
  };
  document.addEventListener("pooldeck:sample", (event) => window.drawn.push([event.detail.t, clock()]));
"""
EARLIER_S = 6  # of a run before the watched one, so that the page stands before its first point is due
STAGES = ("published", "arrived", "drawn")  # stages after the load program printed a line
# The programs on the way to each stage, by the beginnings of their names.
PROGRAMS = {"published": ("generator",), "arrived": ("redis-server", "panel.web"), "drawn": ("chrom",)}


class Subscriber:
    """Notes when each sample of a run stood in Redis: `{t: ms since the epoch}`."""

    def __init__(self, home: Path, run_id: str) -> None:
        conf = dict(re.findall(r"^(port|requirepass) (\S+)$", (home / "redis" / "redis.conf").read_text(), re.M))
        self._client = redis.Redis(port=int(conf["port"]), password=conf["requirepass"].strip('"'))
        self._key = f"pooldeck:run:{run_id}:events"
        self._done = threading.Event()
        self.seen: dict[float, float] = {}
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        last: Any = "0-0"
        while not self._done.is_set():
            answer: Any = self._client.xread({self._key: last}, block=200)
            now = time.time() * 1000
            entries = answer[0][1] if answer else []
            last = entries[-1][0] if entries else last
            samples = [json.loads(fields[b"payload"]) for _, fields in entries if fields[b"event"] == b"sample"]
            self.seen |= {sample["t"]: now for sample in samples}

    def close(self) -> None:
        """End the reading."""
        self._done.set()
        self._thread.join()
        self._client.close()


def write_relay(folder: Path) -> tuple[Path, Path]:
    """Write the relay program and the log it appends to, both usable by the account that runs pgbench."""
    log, relay = folder / "printed.log", folder / "pgbench"
    pgbench = max(Path("/usr/lib/postgresql").glob("*/bin/pgbench"), key=lambda path: int(path.parts[4]))
    log.touch()
    log.chmod(0o666)
    relay.write_text(RELAY.format(python="/usr/bin/python3", pgbench=str(pgbench), log=str(log)))
    relay.chmod(0o755)
    folder.chmod(0o755)
    return relay, log


def watch_run(page: Page, installation: Installation, log: Path, seconds: int) -> list[dict[str, float]]:
    """Return for each point of one run the ms from its printing to each stage that it was seen in."""
    log.write_text("")  # of two lines of one time the later counts, which is the watched run's
    pool = installation.api.get("pools/")["results"][0]
    options = {"builtin": "select-only", "clients": 4, "threads": 2, "duration": seconds, "progress": 1}
    request = {"target": {"pool": pool["id"]}, "engine": "pgbench", "options": options}
    installation.api.post("runs/", request | {"options": options | {"duration": EARLIER_S}})
    run = installation.api.post("runs/", request)
    subscriber = Subscriber(installation.home, run["id"])
    page.goto(f"{installation.url}/runs/{run['id']}/")
    time.sleep(EARLIER_S + seconds)  # asking meanwhile would load the web process that is being measured
    installation.api.wait(f"runs/{run['id']}/", "status", {"succeeded", "failed"}, 60)
    time.sleep(0.5)
    subscriber.close()
    seen = {"published": subscriber.seen, **{stage: dict(page.evaluate(f"window.{stage}")) for stage in STAGES[1:]}}
    printed = {float(t): float(at) * 1000 for at, t in (line.split() for line in log.read_text().splitlines())}
    return [
        {stage: seen[stage][t] - at for stage in STAGES if t in seen[stage]}
        for t, at in printed.items()
        if t in seen["drawn"]
    ]


class Usage:
    """What the programs on each leg ran and waited while the runs were on."""

    def __init__(self, pid: int) -> None:
        self._pids = pid, os.getpid()  # the browser is ours
        self.of_stage = dict.fromkeys(STAGES, Scheduled())

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count what is used meanwhile."""
        before = self._read()
        yield
        after = self._read()
        for stage in STAGES:
            self.of_stage[stage] += after[stage] - before[stage]

    def _read(self) -> dict[str, Scheduled]:
        found = {name: one for pid in self._pids for name, one in processes.scheduled_by_program(pid).items()}
        return {
            stage: sum((found[name] for name in found if name.startswith(names)), Scheduled())
            for stage, names in PROGRAMS.items()
        }


def report(points: list[dict[str, float]], firsts: list[dict[str, float]], usage: Usage) -> None:
    """Print a line for each leg, and one for the whole way."""
    print(f"{'ms':28}{'p50':>8}{'p95':>8}{'max':>8}{'first':>8}{'processor':>11}{'waited':>8}")
    for leg in [*zip((None, *STAGES), STAGES, strict=False), (None, "drawn")]:
        every, first = (legs(some, *leg) for some in (points, firsts))
        figures = [*percentiles(every).values(), statistics.median(first)]
        stages = [leg[1]] if leg[0] or leg[1] != "drawn" else STAGES
        used = sum((usage.of_stage[stage] for stage in stages), Scheduled())
        name = f"{leg[0] or 'printed'} to {leg[1]}"
        times = (used.ran_s * 1000 / len(points), used.waited_s * 1000 / len(points))
        print(f"{name:28}" + "".join(f"{one:8.1f}" for one in figures) + f"{times[0]:11.1f}{times[1]:8.1f}")
    print(f"{len(points)} points of {len(firsts)} runs; load average {os.getloadavg()[0]:.1f}")


def legs(points: list[dict[str, float]], begins: str | None, ends: str) -> list[float]:
    """The ms between two stages of each point that was seen in both; None is the printing."""
    return [one[ends] - (one[begins] if begins else 0.0) for one in points if ends in one and (begins or ends) in one]


def percentiles(delays: list[float]) -> dict[str, float]:
    """Return p50, p95 and the maximum in ms."""
    ordered = sorted(delays)
    p95 = ordered[int(len(ordered) * 0.95)]
    return {"p50_ms": round(statistics.median(ordered), 1), "p95_ms": round(p95, 1), "max_ms": round(ordered[-1], 1)}


def log_in(page: Page, quickstart: dict[str, Any]) -> None:
    """Log in as the quickstart's user."""
    page.goto(quickstart["url"])
    page.fill("[name=username]", quickstart["username"])
    page.fill("[name=password]", quickstart["password"])
    page.click("button[type=submit]")
    page.wait_for_url("**/")


def main() -> None:
    """Start an installation with the relay in pgbench's place and print the delays."""
    processes.end_all_on_sigterm()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pooldeck-bench-") as name:
        relay, log = write_relay(Path(name))
        os.environ["POOLDECK_PGBENCH"] = str(relay)
        with Installation(Path(name) / "home") as installation, sync_playwright() as playwright:
            browser = launch(playwright)
            page = browser.new_page()
            page.add_init_script(LISTEN)
            log_in(page, installation.quickstart)
            usage, runs = Usage(installation.process.pid), []
            for _ in range(chosen.runs):
                with usage.counted():
                    runs.append(watch_run(page, installation, log, chosen.seconds))
            browser.close()
    report([one for run in runs for one in run], [run[0] for run in runs if run], usage)


if __name__ == "__main__":
    main()
