"""How many seconds after a kill -9 a change of a pool is live: of the server, the pooler, or a worker in an apply.

    python -m tests.bench.outages [--rounds 3]

A worker that dies in the middle of an apply is a process of its own that hangs while it writes; the last one runs in
another PID namespace, as in a container (needs `unshare`).
"""

import argparse
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from panel.quickstart.ports import free_port
from tests.bench.processes import end_all_on_sigterm
from tests.installation import ROOT, Installation
from tests.programs import heads

APPLIED_WITHIN_S, AIM_S = 90.0, 10.0
sizes = itertools.cycle(range(2, 8))
HANGS_WHILE_WRITING = """
import sys, time, django
django.setup()
from pools import deployment
from pools.models import Pool, PoolState
from pools.poolers.pgbouncer.session import PgBouncerSession
def hang(*_):
    print("writing", flush=True)
    time.sleep(600)
PgBouncerSession.go_live = hang
pool = Pool.objects.select_related("pooler").get(pk=sys.argv[1])
pool.edit(None, size=int(sys.argv[2]), state=PoolState.PENDING)
deployment.apply_pooler(pool.pooler)
"""
NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


def environment(installation: Installation) -> dict[str, str]:
    """That of a worker of the installation."""
    kept = json.loads((installation.home / "installation.json").read_text())
    redis_url = f"redis://:{kept['passwords']['redis']}@127.0.0.1:{kept['ports']['redis']}/0"
    own = {"POOLDECK_HOME": str(installation.home), "REDIS_URL": redis_url, "DJANGO_SETTINGS_MODULE": "panel.settings"}
    return {**os.environ, **own}


def until_applied(installation: Installation, pool: str, size: int) -> float:
    """Return when the pool was live with that size."""
    deadline = time.monotonic() + APPLIED_WITHIN_S
    while time.monotonic() < deadline:
        found: dict[str, Any] = installation.api.get(f"pools/{pool}/")
        if (found["state"], found["size"]) == ("applied", size):
            return time.monotonic()
        time.sleep(0.1)
    raise AssertionError(f"not applied within {APPLIED_WITHIN_S} s: {found['state']} {found.get('state_reason')}")


def kill_program(name: str) -> Callable[[Installation, str], float]:
    """Kill a program of script/up, and ask for a change of the pool."""

    def seconds(installation: Installation, pool: str) -> float:
        size = next(sizes)
        os.kill(heads(installation)[name], signal.SIGKILL)
        died_at = time.monotonic()
        installation.api.call("PATCH", f"pools/{pool}/", {"size": size})
        return until_applied(installation, pool, size) - died_at

    return seconds


def kill_in_an_apply(namespace: Sequence[str] = ()) -> Callable[[Installation, str], float]:
    """Kill a process that hangs while it applies a change of the pool."""

    def seconds(installation: Installation, pool: str) -> float:
        while True:  # the installation's own worker may have been quicker
            size = next(sizes)
            words = [*namespace, sys.executable, "-c", HANGS_WHILE_WRITING, pool, str(size)]
            with subprocess.Popen(
                words, cwd=ROOT, env=environment(installation), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            ) as process:
                assert process.stdout
                is_writing = process.stdout.readline() == b"writing\n"
                time.sleep(1)
                process.kill()
                died_at = time.monotonic()
            applied_at = until_applied(installation, pool, size)
            if is_writing:
                return applied_at - died_at

    return seconds


CASES = {
    "server killed": kill_program("postgres"),
    "pooler killed": kill_program("pgbouncer"),
    "worker killed": kill_program("worker"),
    "child killed in an apply": kill_in_an_apply(),
    "the same in another PID namespace": kill_in_an_apply(NAMESPACE),
}


def measure(installation: Installation, rounds: int) -> int:
    """Print the table; the number of kinds whose longest time misses the aim."""
    (pool,) = [one for one in installation.api.get("pools/")["results"] if one["name"] == "app"]
    found: defaultdict[str, list[float]] = defaultdict(list)
    for number in range(rounds):
        for name, seconds in CASES.items():
            found[name].append(seconds(installation, pool["id"]))
            print(f"round {number + 1}: {name}: {found[name][-1]:.1f} s", flush=True)
            time.sleep(3)
    print("\n| outage | applied after, median s | longest s |\n|---|---|---|")
    for name, times in found.items():
        print(f"| {name} | {statistics.median(times):.1f} | {max(times):.1f} |")
    return sum(max(times) > AIM_S for times in found.values())


def main() -> int:
    """0 where every change was live within 10 s of the kill."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    end_all_on_sigterm()
    with tempfile.TemporaryDirectory() as home, Installation(Path(home), "--port", str(free_port())) as started:
        return 1 if measure(started, options.rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
