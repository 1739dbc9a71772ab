"""How fresh the live chart is: from pgbench printing a progress line to the point standing in the browser's chart.

    .venv/bin/python -m tests.bench.live [--seconds 30] [--runs 3]

pgbench is started through a relay that notes the time at which each progress line left it; the page tells by
its `pooldeck:sample` event when the point was drawn. Both clocks are this machine's.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.bench import processes
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

LISTEN = """() => {
  window.drawn = [];
  document.addEventListener("pooldeck:sample", (event) => {
    window.drawn.push([event.detail.t, performance.timeOrigin + performance.now()]);
  });
}"""


def write_relay(folder: Path) -> tuple[Path, Path]:
    """The relay program and the log it appends to, both usable by the account that runs pgbench."""
    log, relay = folder / "printed.log", folder / "pgbench"
    pgbench = max(Path("/usr/lib/postgresql").glob("*/bin/pgbench"), key=lambda path: int(path.parts[4]))
    log.touch()
    log.chmod(0o666)
    relay.write_text(RELAY.format(python="/usr/bin/python3", pgbench=str(pgbench), log=str(log)))
    relay.chmod(0o755)
    folder.chmod(0o755)
    return relay, log


def watch_run(page: Page, installation: Installation, log: Path, seconds: int) -> list[float]:
    """The delays in ms of one run's points."""
    log.write_text("")
    pool = installation.api.get("pools/")["results"][0]
    options = {"builtin": "select-only", "clients": 4, "threads": 2, "duration": seconds, "progress": 1}
    run = installation.api.post("runs/", {"target": {"pool": pool["id"]}, "engine": "pgbench", "options": options})
    page.goto(f"{installation.url}/runs/{run['id']}/")
    page.evaluate(LISTEN)
    installation.api.wait(f"runs/{run['id']}/", "status", {"succeeded", "failed"}, seconds + 30)
    time.sleep(0.5)
    drawn: list[list[float]] = page.evaluate("() => window.drawn")
    printed = {float(t): float(at) * 1000 for at, t in (line.split() for line in log.read_text().splitlines())}
    return [at - printed[t] for t, at in drawn if t in printed]


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
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            page = browser.new_page()
            log_in(page, installation.quickstart)
            delays = [ms for _ in range(chosen.runs) for ms in watch_run(page, installation, log, chosen.seconds)]
            browser.close()
    delays.sort()
    figures = {
        "points": len(delays),
        "p50_ms": round(statistics.median(delays), 1),
        "p95_ms": round(delays[int(len(delays) * 0.95)], 1),
        "max_ms": round(delays[-1], 1),
    }
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
