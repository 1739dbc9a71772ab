"""What watching many poolers costs: the processor time of polls and checks of 200 real PgBouncers.

    .venv/bin/python -m tests.bench.monitoring [--poolers 200] [--entries 5] [--rounds 6] [--hanging 20] [--down 10]
    .venv/bin/python -m tests.bench.monitoring --postgresql --json after.json --before before.json
    .venv/bin/python -m tests.bench.monitoring --minutes 2

The poolers are watched by their consoles; each of their entries was used once, so that a poll reads a row of SHOW
POOLS, STATS and DATABASES for each. The records are in SQLite, or in a PostgreSQL of the bench's own.

First each periodic task that asks the poolers is carried out here, as beat would have it. A row has the processor
milliseconds of one time (of this process, medians; PgBouncers and Redis left out), how often a minute has it, and
percent of one processor. Then some poolers hang (their processes are stopped, so that the system takes connections
that nothing answers) and some are gone, and the polls are repeated: `healthy` is how many of the others answered in the
slowest round. That wants wall-clock time: on a busy machine a late answer need not be the panel's fault.

With `--minutes` the panel's own processes (web, worker, beat) are started beside it, idle but for these poolers, and
the percent of one processor that each takes over so many minutes is printed too.
"""

import argparse
import json
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from panel.quickstart.ports import free_port
from tests.bench import bouncers, processes
from tests.bench.bouncers import SmallBouncer
from tests.bench.scale import servers

MINUTE_S, EVERY_S = 60, 10
Row = dict[str, float]


@contextmanager
def panel(folder: Path, *, postgresql: bool) -> Iterator[None]:
    """Set Django up on an empty metadata database and a Redis of its own."""
    with ExitStack() as stack:
        url = f"sqlite:///{folder}/pooldeck.sqlite3"
        if postgresql:
            url = stack.enter_context(servers.postgresql(folder / "metadata"))
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "panel.settings",
            "POOLDECK_HOME": str(folder),
            "DATABASE_URL": url,
            "REDIS_URL": stack.enter_context(servers.redis(folder / "redis")),
            "POOLDECK_SECRET_KEY": "bench-only-" + "x" * 50,
            "POOLDECK_KEYS": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
        }
        import django

        django.setup()
        from django.core.management import call_command

        from panel import start

        logging.disable(logging.WARNING)
        call_command("migrate", verbosity=0)
        start.recognize_a_copy(folder)  # else its beat takes the poolers for those of another panel, and pauses
        yield


def register(running: Sequence[SmallBouncer]) -> None:
    """Register each as a watched pooler, and check them once, which finds their entries."""
    from pools.inventory import poolers
    from pools.models import Pooler

    for at, one in enumerate(running):
        pooler = Pooler(name=f"bench-{at:03}", host=one.host, port=one.port, admin_user=one.admin_user)
        pooler.admin_password = one.admin_password
        pooler.save()
    poolers.check_all()


def tasks() -> list[tuple[str, Callable[[], object], int]]:
    """Return (name, task, times a minute) of those that ask poolers, or judge what they answered."""
    from pools.inventory import poolers
    from pools.monitoring import notifications, recorder

    return [
        ("polls", _poll, MINUTE_S // EVERY_S),
        ("of which: minute stored", lambda: recorder.store_minute(int(time.time() // 60) - 1), 1),
        ("checks", poolers.check_all, 1),
        ("notices", notifications.send_due, 6),
    ]


def _poll() -> None:
    from pools.monitoring import recorder

    recorder.record()


def by_task(rounds: int) -> Iterator[tuple[str, Row]]:
    """Yield the figures of each task."""
    for name, task, times in tasks():
        spent_s = [_spent_s(task) for _nth in range(rounds if times > 1 else 1)]
        ms = 1000 * statistics.median(spent_s)
        yield name, {"ms": ms, "a minute": times, "percent": ms * times / 10 / MINUTE_S}


def _spent_s(task: Callable[[], object]) -> float:
    """Return the processor seconds of a task, begun when the next poll is due."""
    time.sleep(EVERY_S - time.time() % EVERY_S)
    before = time.process_time()
    task()
    return time.process_time() - before


def with_silent(running: Sequence[SmallBouncer], hanging: int, down: int, rounds: int) -> tuple[str, Row]:
    """Let some hang and others go, and return what polls cost then and how many healthy ones answered."""
    from pools.models import Pooler
    from pools.monitoring import recorder, sampler

    for one in running[:hanging]:
        one.hang()
    for one in running[hanging : hanging + down]:
        one.kill()
    ports = [one.port for one in running[hanging + down :]]
    healthy = set(Pooler.objects.filter(port__in=ports).values_list("pk", flat=True))
    answered, spent_s = [], []
    for _nth in range(rounds):
        before, began = time.process_time(), time.time()
        recorder.record()
        spent_s.append(time.process_time() - before)
        fresh = [cached.snapshot if (cached := sampler._cache.get(pk)) else None for pk in healthy]
        answered.append(sum(1 for one in fresh if one is not None and not one.error and one.at >= began - 1))
        time.sleep(EVERY_S - time.time() % EVERY_S)
    name = f"polls, {hanging} hanging and {down} gone"
    return name, {"ms": 1000 * statistics.median(spent_s), "healthy": min(answered), "of": len(healthy)}


@contextmanager
def programs(folder: Path) -> Iterator[Mapping[str, int]]:
    """Run the panel's web process, worker and beat; yield name → process."""
    from panel.quickstart.panel_programs import Beat, Web, Worker

    with ExitStack() as stack:
        running = [stack.enter_context(one) for one in (Web(folder, free_port()), Worker(folder), Beat(folder))]
        yield {one.name: one.process.pid for one in running if one.process}


def of_processes(folder: Path, minutes: int) -> Iterator[tuple[str, Row]]:
    """Yield the percent of a processor that each of the panel's processes takes over some minutes."""
    with programs(folder) as found:
        time.sleep(MINUTE_S)  # they have started
        before, began = _cpu_s(found), time.monotonic()
        time.sleep(minutes * MINUTE_S)
        after, took_s = _cpu_s(found), time.monotonic() - began
    for name in found:
        yield f"process {name}", {"percent": 100 * (after[name] - before[name]) / took_s}


def _cpu_s(found: Mapping[str, int]) -> Row:
    return {name: processes.panel_cpu_s(pid) for name, pid in found.items()}


def table(rows: Mapping[str, Row], before: Mapping[str, Row]) -> str:
    """Return the figures in Markdown, beside those of another time where there are some."""
    columns = ["ms", "a minute", "percent", "healthy", "of"]
    lines = [f"| | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    for name, row in rows.items():
        cells = [_cell(row.get(column), before.get(name, {}).get(column)) for column in columns]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(value: float | None, before: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if before in (None, value) else f"{before:.3g} → {value:.3g}"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--poolers", type=int, default=200)
    parser.add_argument("--entries", type=int, default=5, help="of each pooler")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--hanging", type=int, default=20)
    parser.add_argument("--down", type=int, default=10)
    parser.add_argument("--minutes", type=int, default=0)
    parser.add_argument("--postgresql", action="store_true", help="keep the records in PostgreSQL, not in SQLite")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--before", type=Path, help="a file of --json to compare with")
    asked = parser.parse_args()
    processes.end_all_on_sigterm()
    with tempfile.TemporaryDirectory(prefix="pooldeck-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with (
            panel(folder, postgresql=asked.postgresql),
            bouncers.started(folder / "poolers", asked.poolers, asked.entries) as running,
        ):
            register(running)
            rows = dict(by_task(asked.rounds))
            if asked.minutes:
                rows |= dict(of_processes(folder, asked.minutes))
            rows |= dict([with_silent(running, asked.hanging, asked.down, asked.rounds)])
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows, json.loads(asked.before.read_text()) if asked.before else {}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
