"""What the panel costs a measurement: tps of a run through the panel over the same bare pgbench command.

    .venv/bin/python -m tests.bench.fidelity [--pairs 10] [--seconds 8] [--apart] [--only tpcb-like]

Interleaved pairs (bare, panel, panel, bare …) on one installation, select-only and TPC-B; the panel's side logs a
share of its transactions for percentiles and has every watcher on, the bare side nothing. The figure is the geometric
mean of the pair-wise ratios panel/bare with its 95 % confidence interval; the spread that bare pgbench shows against
itself stands beside it.

Each measurement begins alike: the tables vacuumed (the practice of pgbench's manual), a second of rest, and a
session of its own for pgbench, since Linux shares the processors out among sessions (sched_autogroup). The rest is
there because bare pgbench itself was 5 % faster right after the vacuum than two seconds later (median of nine pairs of
6 s, seven of them so), which a panel that needs a moment to start its load was charged with. With
`--apart` PostgreSQL has one processor and all else the other: less noise, and a panel that has to take its time
from pgbench's. Beside the ratio stands the processor time that a run took of the panel's processes.
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.analysis import confidence_intervals
from tests.bench import processes
from tests.installation import Api, Installation

TPS = re.compile(r"^tps = ([\d.]+)", re.MULTILINE)
STARTS_WITHIN_S = 1.5
REST_S = 1.0
FINAL = {"succeeded", "failed", "cancelled", "timed_out", "lost"}


def panel_tps(api: Api, target: dict[str, str], options: dict[str, Any]) -> tuple[float, list[str]]:
    """The tps of one run through the panel, and its command."""
    run = api.post("runs/", {"target": target, "engine": "pgbench", "options": options})
    time.sleep(options["duration"] + STARTS_WITHIN_S)  # asking meanwhile would load what is being measured
    run = api.wait(f"runs/{run['id']}/", "status", FINAL, options["duration"] + 60)
    if run["validity"] != "valid":
        raise SystemExit(f"a run was not valid: {run['status']} {run['reasons']} {run['error']}")
    return run["summary"]["tps"], run["command"]


def bare(command: list[str]) -> list[str]:
    """The same command without the log that the panel reads percentiles from."""
    return [word for word in command if word != "-l" and not word.startswith("--sampling-rate")]


def bare_tps(command: list[str], environment: dict[str, str]) -> float:
    """The tps of the same command started by hand, its progress lines read and thrown away as a terminal would."""
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    found = TPS.search(done.stdout)
    if not found:
        raise SystemExit(f"pgbench printed no tps:\n{done.stdout}\n{done.stderr}")
    return float(found[1])


def endpoint_environment(api: Api, pool: dict[str, Any], cluster: dict[str, Any]) -> dict[str, str]:
    """libpq's variables of the cluster's own endpoint, with the password that the pool's URI reveals."""
    uri = api.get(f"pools/{pool['id']}/connection/?as=uri&reveal=1")["text"]
    password = re.search(r"//[^:]+:([^@]*)@", uri)
    assert password, uri
    return {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C",
        "PGHOST": cluster["host"],
        "PGPORT": str(cluster["port"]),
        "PGUSER": pool["user"],
        "PGPASSWORD": password[1],
        "PGDATABASE": pool["database"],
        "PGSSLMODE": cluster["sslmode"],
    }


def measure(installation: Installation, builtin: str, pairs: int, seconds: int) -> None:
    """Print the ratios of one built-in script."""
    api = installation.api
    pool = api.get("pools/")["results"][0]
    cluster = api.get(f"clusters/{pool['cluster']}/")
    target = {"cluster": cluster["id"], "database": pool["database"], "user": pool["user"]}
    options = {"builtin": builtin, "clients": 4, "threads": 2, "duration": seconds, "progress": 1}
    environment = endpoint_environment(api, pool, cluster)
    _, started = panel_tps(api, target, options)  # warm-up; it also says the command
    command = bare(started)
    by_hand, panel = [], []
    taken_s, passed_s = {"b": 0.0, "p": 0.0}, {"b": 0.0, "p": 0.0}
    for pair in range(pairs):
        for side in "bp" if pair % 2 == 0 else "pb":
            begin_alike(environment)
            began, before_s = time.monotonic(), processes.panel_cpu_s(installation.process.pid)
            if side == "b":
                by_hand.append(bare_tps(command, environment))
            else:
                panel.append(panel_tps(api, target, options)[0])
            taken_s[side] += processes.panel_cpu_s(installation.process.pid) - before_s
            passed_s[side] += time.monotonic() - began
        print(
            f"  pair {pair + 1}: bare {by_hand[-1]:9.0f}  panel {panel[-1]:9.0f}  ratio {panel[-1] / by_hand[-1]:.3f}",
            flush=True,
        )
    report(builtin, seconds, by_hand, panel)
    anyway_s = taken_s["b"] * passed_s["p"] / passed_s["b"]
    share = (taken_s["p"] - anyway_s) / pairs / seconds
    print(f"{builtin}: a run took {share:.2%} of one processor beyond what the panel's processes take anyway")


def report(builtin: str, seconds: int, bare: list[float], panel: list[float]) -> None:
    """Print the mean of the pair-wise ratios with its interval, and how they and bare pgbench spread."""
    pairs = list(zip(bare, panel, strict=True))
    ratios = sorted(p / b for b, p in pairs)
    found = confidence_intervals.of_pairs(pairs)
    mean = f"mean ratio {found.ratio:.3f} (95 % interval {found.low:.3f} to {found.high:.3f}), " if found else ""
    spread = statistics.stdev(bare) / statistics.mean(bare) if len(bare) > 1 else 0.0
    print(
        f"{builtin}: {mean}median {statistics.median(ratios):.3f}, min {ratios[0]:.3f}, max {ratios[-1]:.3f}, "
        f"{len(ratios)} pairs of {seconds} s; bare pgbench varies by {spread:.1%} (coefficient of variation)"
    )


def begin_alike(environment: dict[str, str]) -> None:
    """Leave no dead row to the next measurement, and some rest before it."""
    names = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGPASSWORD": "password", "PGDATABASE": "dbname"}
    login = {names[key]: value for key, value in environment.items() if key in names}
    with psycopg.connect(**login, autocommit=True) as connection:  # type: ignore[arg-type]
        connection.execute("TRUNCATE pgbench_history")
        connection.execute("VACUUM ANALYZE")
    time.sleep(REST_S)


def main() -> None:
    """Start an installation and measure both scripts."""
    processes.end_all_on_sigterm()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--only", choices=["select-only", "tpcb-like"])
    chosen = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="pooldeck-bench-") as folder,
        Installation(Path(folder) / "home") as installation,
    ):
        if chosen.apart:
            processes.keep_apart(installation.process.pid)
        for builtin in [chosen.only] if chosen.only else ["select-only", "tpcb-like"]:
            measure(installation, builtin, chosen.pairs, chosen.seconds)


if __name__ == "__main__":
    main()
