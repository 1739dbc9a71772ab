"""What a login costs, by how the password is kept: direct, through each PgBouncer at hand and through Pgpool-II.

    .venv/bin/python -m tests.bench.login [--seconds 4] [--rounds 3] [--pgbouncer PATH ...]

pgbench -n -S -C: every transaction is a login of its own. Each cell is the median of interleaved rounds, with its ratio
to direct under the same authentication, and the processor time that one login took of the client (pgbench), the pooler
and the server. Goal: under SCRAM with what the panel writes (the verifier before PgBouncer 1.25) pooled ÷ direct ≥ 2.
"""

import argparse
import os
import re
import resource
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from panel.quickstart import account
from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PgBouncerServer, PostgresServer, binary, free_port, newest_postgresql
from tests.bench import processes

ROLE, PASSWORD, DATABASE = "app", "app-password", "app"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
AUTHS = ("trust", "md5", "SCRAM, clear", "SCRAM, verifier")
CLIENTS = 10
HBA = "local all all trust\nhost all postgres all scram-sha-256\nhost all all all {}\n"


@dataclass(frozen=True)
class Measured:
    """One round of one cell: logins a second, and processor milliseconds a login of client, pooler and server."""

    tps: float
    client_ms: float
    pooler_ms: float
    server_ms: float


def main() -> None:
    """Measure all cells, round by round, and print the table."""
    asked = _arguments()
    processes.end_all_on_sigterm()
    with ExitStack() as opened:
        home = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="pooldeck-login-")))
        home.chmod(0o755)
        postgres = _dataset(opened.enter_context(_postgres(home)))
        poolers = [opened.enter_context(_pgbouncer(home, number, path)) for number, path in enumerate(asked.pgbouncer)]
        pgpool = opened.enter_context(_pgpool(home, postgres))
        rounds: dict[tuple[str, str], list[Measured]] = {}
        for _ in range(asked.rounds):
            for auth in AUTHS:
                _authenticate(postgres, auth)
                for name, server in _endpoints(postgres, poolers, pgpool, auth):
                    if isinstance(server, PgBouncerServer):
                        configure(server, postgres, auth)
                    rounds.setdefault((auth, name), []).append(_measure(postgres, server, asked.seconds))
    _show(rounds)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pgbouncer", nargs="*", default=[binary("pgbouncer")], help="paths of its releases")
    return parser.parse_args()


def _postgres(home: Path) -> PostgresServer:
    settings = {"fsync": "off", "max_connections": "100"}
    return PostgresServer(home / "postgres", free_port(), password="superuser", settings=settings)


def _dataset(server: PostgresServer) -> PostgresServer:
    server.create_owner_and_database(ROLE, PASSWORD, DATABASE)
    environment = {**os.environ, "PGPASSWORD": PASSWORD}
    words = [*_words(server), "-i", "-q", "-s", "10", DATABASE]
    subprocess.run([_pgbench(), *words], env=environment, check=True, capture_output=True)
    return server


def _pgbouncer(home: Path, number: int, path: str) -> PgBouncerServer:
    return PgBouncerServer(home / f"pgbouncer-{number}", free_port(), "pooldeck", "console-password", path)


def _pgpool(home: Path, postgres: PostgresServer) -> PgpoolServer:
    passwords = {"postgres": "superuser", ROLE: PASSWORD}
    return PgpoolServer(home / "pgpool", free_port(), free_port(), postgres, passwords)


def _endpoints(
    postgres: PostgresServer, poolers: list[PgBouncerServer], pgpool: PgpoolServer, auth: str
) -> Iterator[tuple[str, Any]]:
    yield "direct", postgres
    for pooler in poolers:
        yield _version(pooler.binary), pooler
    if auth == "SCRAM, clear":  # as its pool_passwd is, whatever the others'
        yield "Pgpool-II", pgpool


def _version(path: str) -> str:
    reported = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    return reported.splitlines()[0]


def _authenticate(postgres: PostgresServer, auth: str) -> None:
    """Have the server ask the role for that kind of login."""
    method = {"trust": "trust", "md5": "md5"}.get(auth, "scram-sha-256")
    account.write_private(postgres.cluster_folder / "pg_hba.conf", HBA.format(method))
    with postgres.connect() as session:
        session.execute(f"SET password_encryption = '{'md5' if auth == 'md5' else 'scram-sha-256'}'".encode())
        session.execute(f"ALTER ROLE {ROLE} PASSWORD '{PASSWORD}'".encode())
        session.execute(b"SELECT pg_reload_conf()")


def configure(pooler: PgBouncerServer, postgres: PostgresServer, auth: str) -> None:
    """A transaction pool of the role, whose secret is kept as `auth` says; restarted, so that no key is left over."""
    with postgres.connect() as session:
        row = session.execute(f"SELECT rolpassword FROM pg_authid WHERE rolname = '{ROLE}'".encode()).fetchone()
    secret = PASSWORD if auth in ("trust", "SCRAM, clear") else str(row[0] if row else "")
    kind = {"trust": "trust", "md5": "md5"}.get(auth, "scram-sha-256")
    users = {pooler.admin_user: pooler.admin_password, ROLE: secret}
    account.write_private(
        pooler.config_dir / "userlist.txt", "".join(f'"{user}" "{secret}"\n' for user, secret in users.items())
    )
    where = f"host={postgres.host} port={postgres.port} dbname={DATABASE} user={ROLE} password='{PASSWORD}'"
    main = pooler.config_dir / "pgbouncer.ini"
    text = re.sub(r"(?m)^auth_type = .*$", f"auth_type = {kind}", main.read_text())
    text = re.sub(
        r"(?s)^\[databases\].*?\[pgbouncer\]", f"[databases]\n{DATABASE} = {where} pool_size=20\n[pgbouncer]", text
    )
    account.write_private(main, text)
    pooler.stop()
    pooler.start()


def _measure(postgres: PostgresServer, server: Any, seconds: int) -> Measured:
    pooler = None if server is postgres else server
    before = _cpu_s(postgres), _cpu_s(pooler), _children_s()
    environment = {**os.environ, "PGPASSWORD": PASSWORD, "PGSSLMODE": "disable"}
    words = [*_words(server), "-n", "-S", "-C", "-c", str(CLIENTS), "-j", "2", "-T", str(seconds), DATABASE]
    done = subprocess.run([_pgbench(), *words], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"pgbench to {server} ended with exit code {done.returncode}:\n{done.stderr}\n{server.log_tail}"
        )
    after = _cpu_s(postgres), _cpu_s(pooler), _children_s()
    logins = int(re.search(r"actually processed: (\d+)", done.stdout)[1])  # type: ignore[index]
    tps = float(re.search(r"tps = ([\d.]+) \(including reconn", done.stdout)[1])  # type: ignore[index]
    of_server, of_pooler, of_client = ((b - a) * 1000 / logins for a, b in zip(before, after, strict=True))
    return Measured(tps, of_client, of_pooler, of_server)


def _words(server: Any) -> list[str]:
    return ["-h", server.host, "-p", str(server.port), "-U", ROLE]


def _pgbench() -> str:
    return str(newest_postgresql() / "pgbench")


def _children_s() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _cpu_s(server: Any) -> float:
    """Of a server and all its processes, those included that ended meanwhile and were waited for (proc(5))."""
    total = 0
    for pid, _ in processes.descendants(server.process.pid) if server else ():
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(int(field) for field in fields[11:15])
    return total / TICKS_PER_S


def _show(rounds: dict[tuple[str, str], list[Measured]]) -> None:
    print(f"{'authentication':<17}{'endpoint':<20}{'logins/s':>9}{'÷ direct':>9}", end="")
    print(f"{'client ms':>11}{'pooler ms':>11}{'server ms':>11}   rounds")
    for (auth, name), found in rounds.items():
        median = statistics.median(one.tps for one in found)
        direct = statistics.median(one.tps for one in rounds[auth, "direct"])
        figures = (
            statistics.median(getattr(one, part) for one in found) for part in ("client_ms", "pooler_ms", "server_ms")
        )
        each = " ".join(f"{one.tps:.0f}" for one in found)
        print(f"{auth:<17}{name:<20}{median:>9.0f}{median / direct:>9.2f}", end="")
        print("".join(f"{figure:>11.2f}" for figure in figures), f"  {each}")


if __name__ == "__main__":
    main()
