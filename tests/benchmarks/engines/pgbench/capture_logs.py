"""Takes the transaction logs the tests read: `python -m tests.benchmarks.engines.pgbench.capture_logs`.

As `capture` does, with each pgbench against a server of its own version; of each log the first lines are kept.
"""

import subprocess
import tempfile
from pathlib import Path

from panel.quickstart.servers import PostgresServer, free_port
from tests.benchmarks.engines.pgbench.capture import CASES, CONFLICTS, take
from tests.postgresqls import bindirs

LOGS = Path(__file__).parent / "logs"
LINES = 60
SHORT = ["-n", "-l", "-c", "4", "-j", "2", "-T", "2"]

LOGGED = {
    "plain": ["-b", "tpcb-like", *SHORT],
    "sampled": ["-b", "select-only", "--sampling-rate=0.01", *SHORT],
    "several-scripts": ["-b", "tpcb-like@1", "-b", "select-only@3", *SHORT],
    "rate": ["-b", "select-only", "-R", "200", *SHORT],
    "rate-skipped": ["-b", "select-only", "-R", "1000000", "-L", "20", *SHORT],
    "failed": ["-f", "conflicts.sql", *SHORT],
    "failed-detailed": ["-f", "conflicts.sql", "--failures-detailed", *SHORT],
    "retries": ["-f", "conflicts.sql", "--failures-detailed", "--max-tries=3", *SHORT],
    "rate-retries": ["-f", "conflicts.sql", "-R", "500", "-L", "50", "--max-tries=3", *SHORT],
}


def main() -> None:
    """Every log with each major version there is."""
    for major, bindir in bindirs().items():
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            home = Path(folder) / "server"
            settings = {"max_connections": "20", "fsync": "off"}
            with PostgresServer(home, free_port(), password="capture", bindir=bindir, settings=settings) as server:
                with server.connect() as session:
                    session.execute("CREATE DATABASE bench")
                take(CASES["init-again"], server, Path(folder))
                (Path(folder) / "conflicts.sql").write_text(CONFLICTS)
                for name, words in LOGGED.items():
                    log(name, words, server, Path(folder), major)


def log(name: str, words: list[str], server: PostgresServer, folder: Path, major: str) -> None:
    """Run one and keep lines of every file it wrote, one file after the other."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C",
        "PGHOST": server.host,
        "PGPORT": str(server.port),
        "PGUSER": server.superuser,
        "PGPASSWORD": server.password,
    }
    subprocess.run(
        [str(server.bindir / "pgbench"), *words, "bench"], env=environment, cwd=folder, capture_output=True, check=False
    )
    kept: list[str] = []
    for path in sorted(folder.glob("pgbench_log.*")):
        kept += kinds_of(path.read_text().splitlines(keepends=True))
        path.unlink()
    target = LOGS / major / f"{name}.log"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(kept))
    print(f"{major} {name}: {len(kept)} lines", flush=True)


def kinds_of(lines: list[str]) -> list[str]:
    """The first lines, and the first few of each word that may stand for the time."""
    words = {line.split()[2] for line in lines if not line.split()[2].isdigit()}
    rare = [line for word in sorted(words) for line in [one for one in lines if f" {word} " in one][:5]]
    return lines[: LINES // 2] + rare


if __name__ == "__main__":
    main()
