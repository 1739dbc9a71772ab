"""What the panel adds to a reload of ten thousand pools in one file, on a real PgBouncer before a real PostgreSQL.

    .venv/bin/python -m tests.bench.apply [--pools 10000] [--rounds 3]
    .venv/bin/python -m tests.bench.apply --poolers 200 [--pools 10000] [--rounds 3]

The goal: its share (render, keep, write, SHOW, compare, record) takes no longer than the pooler's own reload. The
work of other programs is printed beside it: RELOAD is PgBouncer's; the preflight is the start of a second PgBouncer on
the same files, and the logins (through 200 pools at the most, and twice to the console) wait for PgBouncer and
PostgreSQL. Of one changed pool the quickest of some rounds is told, since another program's minute on the same
processor is nobody's share.

With `--poolers` the pools lie in equal parts on so many PgBouncers, which are applied one after the other as a worker
does: first all of them as new, then in each round one pool of each pooler is changed. Their sums are told, and the
panel's share of one apply. A RELOAD of fifty pools takes about a millisecond, so there the share is compared with the
whole of what other programs do: RELOAD, the preflight and the logins.

`DATABASE_URL` chooses where the records are; without it they are in a SQLite file.
"""

import argparse
import functools
import logging
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import processes

PANEL = ("read the pools", "snapshot", "summary", "render", "keep the revision", "write", "SHOW", "compare", "record")
POOLER, OTHERS = "RELOAD", ("preflight", "log in")


class Stopwatch:
    """Seconds by what they were spent on; what runs inside another part is not counted twice."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self._running: list[str] = []
        self._since = time.perf_counter()

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._running:
            self.spent[self._running[-1]] += now - self._since
        self._since = now

    def around(self, owner: Any, name: str, part: str) -> None:
        """Count each call of a function as that part."""
        original = getattr(owner, name)

        @functools.wraps(original)
        def timed(*values: Any, **named: Any) -> Any:
            self._turn()
            self._running.append(part)
            try:
                return original(*values, **named)
            finally:
                self._turn()
                self._running.pop()

        setattr(owner, name, timed)


def watch(stopwatch: Stopwatch) -> None:
    """Put the stopwatch around the parts of an apply."""
    from pools.deployment import Attempt, snapshots
    from pools.hosts import atomic_write
    from pools.models import RevisionContent
    from pools.models.revisions import RevisionQuerySet
    from pools.poolers.pgbouncer import console
    from pools.poolers.pgbouncer.session import PgBouncerSession

    for owner, name, part in (
        (snapshots, "snapshot", "snapshot"),
        (snapshots, "summary", "summary"),
        (snapshots, "live_specs", "summary"),
        (PgBouncerSession, "draft", "render"),
        (RevisionQuerySet, "draft", "keep the revision"),
        (RevisionContent, "_unsealed", "keep the revision"),
        (PgBouncerSession, "preflight", "preflight"),
        (PgBouncerSession, "go_live", "compare"),
        (atomic_write, "replace", "write"),
        (atomic_write, "read", "write"),
        (console, "reload", POOLER),
        (console, "open", "log in"),
        (console, "table", "SHOW"),
        (PgBouncerSession, "read_back", "compare"),
        (PgBouncerSession, "restarts_needed", "compare"),
        (PgBouncerSession, "log_in", "log in"),
        (Attempt, "settle", "record"),
        (Attempt, "step", "record"),
    ):
        stopwatch.around(owner, name, part)


@contextmanager
def servers(home: Path, poolers: int = 1) -> Iterator[tuple[Any, list[Any]]]:
    """A PostgreSQL with the database `app`, and so many PgBouncers."""
    from panel.quickstart.servers import PgBouncerServer, PostgresServer, free_port

    with ExitStack() as running:
        settings = {
            "max_connections": "400",
            "fsync": "off",
        }  # an apply logs in through 200 pools, each keeps a connection
        postgres = PostgresServer(home / "postgres", free_port(), password="super-secret", settings=settings)
        running.enter_context(postgres)
        postgres.create_owner_and_database("app", "app-password", "app")
        bouncers = []
        for number in range(poolers):
            one = PgBouncerServer(home / f"pgbouncer-{number}", free_port(), "pooldeck", "console-password")
            # each login of an apply leaves a connection to the server: those of all poolers would be too many for it
            one.own_settings = {"server_idle_timeout": 1} if poolers > 1 else {}
            bouncers.append(running.enter_context(one))
        yield postgres, bouncers


def register(postgres: Any, bouncers: Sequence[Any], count: int) -> list[Any]:
    """Each pooler with its part of that many pending pools to one cluster."""
    from pools.models import Cluster, Pool, Pooler

    cluster = Cluster(name="bench", host=postgres.host, port=postgres.port, admin_user=postgres.superuser)
    cluster.admin_password = postgres.password
    cluster.save()
    known = cluster.role_passwords.model(cluster=cluster, role="app")
    known.password = "app-password"
    known.save()
    poolers = []
    for number, pgbouncer in enumerate(bouncers):
        pooler = Pooler(name=f"bench-{number:03}", host=pgbouncer.host, port=pgbouncer.port)
        pooler.admin_user, pooler.admin_password = pgbouncer.admin_user, pgbouncer.admin_password
        pooler.config_dir = str(pgbouncer.config_dir)
        pooler.save()
        names = [f"pool{at:05}" for at in range(count // len(bouncers))]
        values = {"pooler": pooler, "cluster": cluster, "database": "app", "user": "app", "size": 2}
        Pool.objects.bulk_create([Pool(name=name, **values) for name in names])
        poolers.append(pooler)
    return poolers


@dataclass(frozen=True)
class Measured:
    """One apply: seconds in all, of processor time of this process, and by part; the size of pooldeck.ini in bytes."""

    total_s: float
    cpu_s: float
    spent: dict[str, float]
    size: int

    def share(self, parts: Iterable[str]) -> float:
        """Seconds of these parts together."""
        return sum(self.spent.get(part, 0) for part in parts)


def measure(pooler: Any, stopwatch: Stopwatch) -> Measured:
    """Apply what is pending."""
    from pools import deployment

    stopwatch.spent.clear()
    began, cpu = time.perf_counter(), time.process_time()
    revision = deployment.apply_pooler(pooler)
    total, cpu = time.perf_counter() - began, time.process_time() - cpu
    assert revision is not None
    assert revision.state == "applied", revision.reason
    spent = dict(stopwatch.spent)
    spent["read the pools"] = total - sum(spent.values())  # and what else has no part of its own
    return Measured(total, cpu, spent, len(revision.files["pooldeck.ini"]))


def report(what: str, measured: Measured) -> bool:
    """Print where the time went; whether the panel's share is within the pooler's own."""
    share, own = measured.share(PANEL), measured.share([POOLER])
    sys.stdout.write(f"\n{what}: {measured.total_s:.2f} s, {measured.size / 1e6:.1f} MB\n")
    for whose, parts in (("panel", PANEL), ("PgBouncer", [POOLER]), ("other programs", OTHERS)):
        for part in parts:
            sys.stdout.write(f"  {whose:15} {part:18} {measured.spent.get(part, 0):8.3f} s\n")
    sys.stdout.write(
        f"  the panel's share is {share:.3f} s, the pooler's own reload {own:.3f} s, the preflight and the logins "
        f"{measured.share(OTHERS):.3f} s; the panel's process had a processor for {measured.cpu_s:.3f} s\n"
    )
    return share <= own


def run(count: int, rounds: int) -> bool:
    """Make them all, then change one."""
    from django.core.management import call_command

    from pools.deployment import drift
    from pools.models import Pool, PoolState

    call_command("migrate", verbosity=0)
    stopwatch = Stopwatch()
    watch(stopwatch)
    with tempfile.TemporaryDirectory(prefix="pooldeck-bench-") as name, servers(Path(name)) as (postgres, bouncers):
        Path(name).chmod(0o755)
        (pooler,) = register(postgres, bouncers, count)
        within = report(f"{count} new pools", measure(pooler, stopwatch))
        changes = []
        for size in range(3, 3 + rounds):
            Pool.objects.get(name="pool00042").edit(None, size=size, state=PoolState.PENDING)
            changes.append(measure(pooler, stopwatch))
        quickest = min(changes, key=lambda one: one.share(PANEL))
        within &= report(f"one of {count} pools changed, the quickest of {rounds}", quickest)
        began = time.perf_counter()
        drift.check(pooler)
        sys.stdout.write(f"\nlooking for drift: {time.perf_counter() - began:.2f} s\n")
    return within


def total(applies: Sequence[Measured]) -> Measured:
    """The sums of several applies."""
    spent: dict[str, float] = defaultdict(float)
    for one in applies:
        for part, seconds in one.spent.items():
            spent[part] += seconds
    sums = (sum(getattr(one, name) for one in applies) for name in ("total_s", "cpu_s", "size"))
    total_s, cpu_s, size = sums
    return Measured(total_s, cpu_s, spent, size)


def run_over(count: int, poolers: int, rounds: int) -> bool:
    """Make them all on so many poolers, then change one of each."""
    from django.core.management import call_command

    from pools.models import Pool, PoolState

    call_command("migrate", verbosity=0)
    stopwatch = Stopwatch()
    watch(stopwatch)
    with tempfile.TemporaryDirectory(prefix="pooldeck-bench-") as name:
        Path(name).chmod(0o755)
        with servers(Path(name), poolers) as (postgres, bouncers):
            made = register(postgres, bouncers, count)
            within = report_sum(f"{count} new pools on {poolers} poolers", [measure(one, stopwatch) for one in made])
            for size in range(3, 3 + rounds):
                for pool in Pool.objects.filter(name="pool00001"):
                    pool.edit(None, size=size, state=PoolState.PENDING)
                changed = [measure(one, stopwatch) for one in made]
                within &= report_sum(f"one of {count // poolers} pools changed on each of {poolers} poolers", changed)
    return within


def report_sum(what: str, applies: Sequence[Measured]) -> bool:
    """Print the sums; whether the panel's share is within what other programs do."""
    whole = total(applies)
    report(what, whole)
    own_ms = sorted(1000 * one.share(PANEL) for one in applies)
    cpu_ms = sorted(1000 * one.cpu_s for one in applies)
    middle = len(applies) // 2
    sys.stdout.write(
        f"  of one apply, medians: the panel's share {own_ms[middle]:.1f} ms, processor {cpu_ms[middle]:.1f} ms\n"
    )
    return whole.share(PANEL) <= whole.share([POOLER, *OTHERS])


def main() -> int:
    """Exit code 0 when the goal is met."""
    processes.end_all_on_sigterm()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pools", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--poolers", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pooldeck-bench-home-") as home:
        os.environ.update(POOLDECK_HOME=home, DJANGO_SETTINGS_MODULE="tests.settings")
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{home}/bench.sqlite3")
        import django

        django.setup()
        logging.disable(logging.INFO)
        if asked.poolers > 1:
            return 0 if run_over(asked.pools, asked.poolers, asked.rounds) else 1
        return 0 if run(asked.pools, asked.rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
