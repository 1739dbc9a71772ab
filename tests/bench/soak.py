"""Half an hour of ordinary work: do memory, open files, the metadata database and the logs stay as they are?

    python -m tests.bench.soak [--minutes 30] [--json FILE]

Runs follow each other through the demo's pool, a viewer watches each of them, a pool changes its size, and pages and
lists are read. Every 30 seconds each program's memory, open files and threads are noted (with its processes that run
the same program; a load is none of them), and the sizes of the metadata database, its WAL and the logs. With a
PostgreSQL in DATABASE_URL that is its size, the files in its pg_wal and what it has written to them.

Memory is what the kernel calls anonymous: what a process has allocated by itself. Its share of common pages (PSS) grows
when a process that shared them ends, and its resident memory when it reads a file.

The first fifth is left out: programs load modules and fill their pools then. What is printed is the median in each
of the others, the growth from the fourth to the last, per hour, and which lines the logs got, most frequent first.
"""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg

from panel.quickstart.ports import free_port
from tests.bench.processes import end_all_on_sigterm
from tests.installation import Installation
from tests.programs import below, heads

EVERY_S = 30.0
FIFTHS = 5
MEGABYTE = 1024 * 1024
ENDED = {"succeeded", "failed", "lost", "cancelled", "timed_out"}
DATABASE = os.environ.get("DATABASE_URL", "")
LINE_CHARS = 120
SHOWN_LINES = 15
# dates, addresses of memory and machines, ids, numbers and what stands in quotation marks
VARYING = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|'[^']*'|\"[^\"]*\"|\d[\d.:,/ -]*")
PAGES = ("", "pools/", "clusters/", "runs/", "poolers/", "audit/", "experiments/")
Figures = dict[str, float]  # "web MB", "web files" → value


def noted(installation: Installation) -> Figures:
    """Return the figures of now."""
    figures: Figures = {}
    for name, head in heads(installation).items():
        found = [one for pid in (head, *below(head)) if (one := _of_process(pid, head))]
        for unit, values in zip(("MB", "files", "threads"), zip(*found, strict=True), strict=False):
            figures[f"{name} {unit}"] = sum(values)
    home = installation.home
    if DATABASE.startswith("postgres"):
        figures |= _of_postgresql()
    else:
        figures["database MB"] = sum(path.stat().st_size for path in home.glob("pooldeck.sqlite3")) / MEGABYTE
        figures["WAL MB"] = sum(path.stat().st_size for path in home.glob("*-wal")) / MEGABYTE
    figures["logs MB"] = sum(path.stat().st_size for path in (home / "log").iterdir()) / MEGABYTE
    return figures


def _of_process(pid: int, head: int) -> tuple[float, float, float] | None:
    try:
        process = psutil.Process(pid)
        if process.exe() != psutil.Process(head).exe():
            return None
        return _anonymous_mb(pid), process.num_fds(), process.num_threads()
    except (psutil.Error, OSError):
        return None


def _anonymous_mb(pid: int) -> float:
    found = re.search(r"^Anonymous: +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def _of_postgresql() -> Figures:
    with psycopg.connect(DATABASE, autocommit=True) as connection:
        row = connection.execute(
            "SELECT pg_database_size(current_database()), (SELECT sum(size) FROM pg_ls_waldir()),"
            " pg_current_wal_lsn() - '0/0', (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database())"
        ).fetchone()
    assert row
    names = ("database MB", "WAL MB", "written to the WAL MB", "database sessions")
    return {
        name: float(value) / (MEGABYTE if name.endswith("MB") else 1) for name, value in zip(names, row, strict=True)
    }


def lines(installation: Installation) -> Counter[str]:
    """Return how often each line stands in the logs, with its numbers, ids and quoted words left out."""
    found: Counter[str] = Counter()
    for path in (installation.home / "log").iterdir():
        texts = path.read_text(errors="replace").splitlines()
        found.update(f"{path.name.split('.')[0]}: {VARYING.sub('…', text)[:LINE_CHARS]}" for text in texts)
    return found


def work(installation: Installation, stop: threading.Event) -> None:
    """Run, watch, apply and read until told to stop."""
    api = installation.api
    (pool,) = [one for one in api.get("pools/")["results"] if one["name"] == "app"]
    asked = {"target": {"pool": pool["id"]}, "options": {"duration": 10, "clients": 4, "rate": 200}}
    number = 0
    while not stop.is_set():
        number += 1
        run = api.post("runs/", asked)
        _watch(installation, f"runs/{run['id']}/events/")
        api.wait(f"runs/{run['id']}/", "status", ENDED, 60)
        api.call("PATCH", f"pools/{pool['id']}/", {"size": 5 + number % 5})
        api.wait(f"pools/{pool['id']}/", "state", {"applied"}, 30)
        for path in PAGES[1:]:
            api.get(f"{path}?page_size=50")
        with urllib.request.urlopen(f"{installation.url}/healthz/ready", timeout=10) as answer:
            answer.read()


def _watch(installation: Installation, path: str) -> None:
    headers = {"Authorization": f"Bearer {installation.api.token}"}
    request = urllib.request.Request(f"{installation.url}/api/v1/{path}", headers=headers)
    with suppress(OSError), urllib.request.urlopen(request, timeout=30) as answer:
        while answer.readline():
            pass


def fifths(samples: Sequence[Figures]) -> Mapping[str, Sequence[float]]:
    """Return figure → its median in each fifth of the time."""
    size = max(1, len(samples) // FIFTHS)
    parts = [samples[at * size : (at + 1) * size] for at in range(FIFTHS - 1)] + [samples[-size:]]
    return {name: [statistics.median(one.get(name, 0.0) for one in part) for part in parts] for name in samples[-1]}


def table(samples: Sequence[Figures], minutes: float) -> str:
    """Return the figures in every fifth but the first, and the growth between the last two, as a table in Markdown."""
    lines = ["| figure | second fifth | third | fourth | last | per hour |", "|---|---|---|---|---|---|"]
    for name, (_first, *medians) in sorted(fifths(samples).items()):
        hourly = (medians[-1] - medians[-2]) / (minutes / FIFTHS / 60)
        lines.append(f"| {name} | {' | '.join(f'{one:.1f}' for one in medians)} | {hourly:+.1f} |")
    return "\n".join(lines)


def table_of_lines(before: Counter[str], after: Counter[str], hours: float) -> str:
    """Return the lines that the logs got most of, per hour, as a table in Markdown."""
    rows = ["| line | per hour |", "|---|---|"]
    rows += [f"| {line} | {count / hours:.0f} |" for line, count in (after - before).most_common(SHOWN_LINES)]
    return "\n".join(rows)


def main() -> int:
    """Print the table; return 1 where the work broke off."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    end_all_on_sigterm()
    samples: list[Figures] = []
    with tempfile.TemporaryDirectory() as home, Installation(Path(home), "--port", str(free_port())) as started:
        stop = threading.Event()
        worker = threading.Thread(target=work, args=(started, stop))
        worker.start()
        logged = lines(started)
        end = time.monotonic() + options.minutes * 60
        while time.monotonic() < end and worker.is_alive():
            samples.append(noted(started))
            time.sleep(EVERY_S)
        ended_early = not worker.is_alive()
        logged_at_the_end = lines(started)
        stop.set()
        worker.join(120)
    if options.json:
        options.json.write_text(json.dumps(samples, indent=1) + "\n")
    print(table(samples, options.minutes))
    print(table_of_lines(logged, logged_at_the_end, options.minutes / 60))
    return 1 if ended_early else 0


if __name__ == "__main__":
    sys.exit(main())
