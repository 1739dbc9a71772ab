"""The built command lines on real pgbench 15, 16 and 18 against a real server."""

import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from benchmarks.analysis.validity import judge
from benchmarks.engines.binaries import Program
from benchmarks.engines.pgbench.binary import ask
from benchmarks.engines.pgbench.command import build_command
from benchmarks.engines.pgbench.initialize import estimated_bytes
from benchmarks.engines.pgbench.options import validate
from benchmarks.engines.pgbench.output import Output, read_output
from benchmarks.models import Purpose, Validity
from benchmarks.processes.workdir import passfile_text
from panel.quickstart import account
from panel.quickstart.servers import PostgresServer, free_port
from pools.clusters.endpoints import Endpoint
from tests.postgresqls import bindirs, swept

ROLE, PASSWORD = "-bench 'ro\\le", "it's: a \\ password"
HOSTILE = [
    "-i",
    "--file=/etc/passwd",
    "host=127.0.0.2 port=1",
    "postgresql://127.0.0.2:1/postgres",
    "dbname=postgres",
    "a 'quoted' \\ name",
    "ünïcode",
]


@pytest.fixture(scope="module", params=swept())
def binary(request: pytest.FixtureRequest) -> Program:
    """A pgbench of each major version at hand."""
    return ask(str(bindirs()[request.param] / "pgbench"))


@pytest.fixture(scope="module")
def role(postgres: PostgresServer) -> Iterator[str]:
    """A role whose name and password need every kind of escaping."""
    with postgres.connect() as session:
        session.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(ROLE), sql.Literal(PASSWORD)))
        yield ROLE
        session.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(ROLE)))


@pytest.fixture
def database(request: pytest.FixtureRequest, postgres: PostgresServer, role: str) -> Iterator[str]:
    """A database of the role's, `bench` or the name the test gives."""
    name = getattr(request, "param", "bench")
    with postgres.connect() as session:
        session.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(role)))
        yield name
        session.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


class Bench:
    """Runs what is built, in a folder of its own, and reads it."""

    def __init__(self, binary: Program, postgres: PostgresServer, database: str, folder: Path) -> None:
        self.binary, self.postgres, self.database, self.folder = binary, postgres, database, folder
        self.host, self.role = postgres.host, ROLE
        self.passfile = folder / "pgpass"
        self.passfile.touch(mode=0o600)
        self.passfile.write_text(passfile_text(PASSWORD))

    def run(self, raw: dict[str, Any], purpose: str = "load") -> tuple[Output, tuple[Validity, list[str]]]:
        options = validate(raw, purpose=purpose)
        built = build_command(
            options,
            purpose=purpose,
            binary=self.binary.path,
            home=self.folder,
            endpoint=Endpoint(self.host, self.postgres.port, self.database, self.role, PASSWORD, "prefer"),
            application_name="pooldeck-live-1",
            version=self.binary.version,
        )
        assert not any(PASSWORD in word for word in [*built.argv, *built.env.values()])
        ran = subprocess.run(
            built.argv,
            env=built.env,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        output = read_output(ran.stdout, ran.stderr)
        assert ran.returncode == 0, ran.stderr
        return output, judge(output, options=options, exit_code=ran.returncode, purpose=purpose)

    def ask(self, question: str) -> Any:
        with self.postgres.connect(self.database) as session:
            row = session.execute(question.encode()).fetchone()
        return row[0] if row else None


@pytest.fixture
def bench(binary: Program, postgres: PostgresServer, database: str, tmp_path: Path) -> Bench:
    return Bench(binary, postgres, database, tmp_path)


@pytest.mark.parametrize("database", HOSTILE, indirect=True)
def test_a_hostile_database_name_stays_a_name(bench: Bench) -> None:
    output, verdict = bench.run({"scale": 1}, Purpose.PREPARE)
    assert (verdict, output.init_progress[-1].done) == ((Validity.VALID, []), 100_000)
    assert bench.ask("SELECT count(*) FROM pgbench_accounts") == 100_000
    assert bench.run({"clients": 1, "transactions": 5})[0].summary["transactions"] == 5


def test_the_usual_steps_left_out_are_the_usual_steps(bench: Bench) -> None:
    output, _ = bench.run({"scale": 1}, Purpose.PREPARE)
    assert output.init_done is not None
    assert list(output.init_done.phases_s) == [
        "drop tables",
        "create tables",
        "client-side generate",
        "vacuum",
        "primary keys",
    ]


def test_a_dataset_takes_the_room_that_was_estimated(bench: Bench) -> None:
    for options in ({"scale": 3}, {"scale": 2, "fillfactor": 50}):
        bench.run(options, Purpose.PREPARE)
        size = bench.ask("SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname ~ '^pgbench_[a-z]+$'")
        assert estimated_bytes(**options) == pytest.approx(int(size), rel=0.02)


def test_every_option_is_taken_and_a_load_leaves_history_alone(bench: Bench) -> None:
    bench.run({"scale": 2, "initialize_steps": "dtGvpf", "fillfactor": 90}, Purpose.PREPARE)
    with bench.postgres.connect(bench.database) as session:
        session.execute("INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (1, 1, 1, 0)")
    everything = {
        "builtin": "tpcb-like",
        "clients": 2,
        "threads": 2,
        "duration": 2,
        "progress": 1,
        "connect": True,
        "protocol": "prepared",
        "rate": 20.5,
        "latency_limit": 1000.5,
        "max_tries": 0,
        "failures_detailed": True,
        "verbose_errors": True,
        "exit_on_abort": bench.binary.version >= (17, 0),
        "percentiles": True,
        "sampling_rate": 0.5,
        "report_per_command": True,
        "random_seed": 2**53 - 1,
    }
    output, _ = bench.run(everything)
    kept = {key: output.summary[key] for key in ("query_mode", "clients", "threads", "duration_s", "random_seed")}
    assert kept == {"query_mode": "prepared", "clients": 2, "threads": 2, "duration_s": 2, "random_seed": 2**53 - 1}
    assert "max_tries" not in output.summary  # 0: tried until the limit
    assert len(output.statements) == 11
    assert bench.ask("SELECT count(*) FROM pgbench_history") == output.summary["transactions"] + 1


@pytest.fixture
def tablespace(postgres: PostgresServer, role: str) -> Iterator[str]:
    """One whose name needs quoting, empty again when it is dropped."""
    name, place = "fast 'disks", postgres.home / f"space-{uuid.uuid4().hex[:8]}"
    account.make_folder(place)
    create = sql.SQL("CREATE TABLESPACE {} OWNER {} LOCATION {}")
    with postgres.connect() as session:
        session.execute(create.format(sql.Identifier(name), sql.Identifier(role), sql.Literal(str(place))))
        yield name
        session.execute(sql.SQL("DROP TABLESPACE {}").format(sql.Identifier(name)))


def test_a_dataset_takes_every_option(bench: Bench, tablespace: str) -> None:
    options = {"partitions": 3, "partition_method": "hash", "foreign_keys": True, "unlogged_tables": True}
    options |= {"tablespace": tablespace, "index_tablespace": tablespace}
    output, verdict = bench.run({"scale": 1, **options}, Purpose.PREPARE)
    assert verdict == (Validity.VALID, [])
    assert output.init_done is not None
    assert "foreign keys" in output.init_done.phases_s
    asked = "SELECT count(*) FROM pg_class c JOIN pg_tablespace s ON s.oid = reltablespace WHERE "
    assert bench.ask(asked + "relname ~ '^pgbench_accounts_[0-9]$' AND relpersistence = 'u'") == 3
    assert bench.ask(asked + "relkind = 'i' AND relname ~ '^pgbench_branches_pkey$'") == 1
    assert bench.ask("SELECT partstrat FROM pg_partitioned_table") == "h"
    assert bench.run({"clients": 1, "transactions": 5})[0].summary["partitions"] == 3
    with bench.postgres.connect(bench.database) as session:
        session.execute("DROP TABLE pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers")


@pytest.mark.parametrize("options", [{}, {"connect": True}, {"builtin": "tpcb-like", "protocol": "prepared"}])
def test_an_ordinary_run_is_valid(bench: Bench, options: dict[str, Any]) -> None:
    bench.run({"scale": 1}, Purpose.PREPARE)
    output, (_, reasons) = bench.run({"clients": 4, "threads": 2, "duration": 1, **options})
    # beside busy cores that alone makes an ordinary run suspect
    assert [reason for reason in reasons if not reason.startswith("connecting took")] == []
    assert 0 < output.summary["effective_clients"] < 4.4


def test_sessions_carry_the_name_of_their_run(bench: Bench) -> None:
    bench.run({"scale": 1}, Purpose.PREPARE)
    options = validate({"clients": 1, "duration": 30})
    built = build_command(
        options,
        purpose="load",
        binary=bench.binary.path,
        home=bench.folder,
        endpoint=Endpoint(bench.postgres.host, bench.postgres.port, bench.database, ROLE),
        application_name="pooldeck-live-2",
        version=bench.binary.version,
    )
    streams: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(built.argv, env=built.env, cwd=bench.folder, **streams)
    try:
        assert process.stderr is not None
        assert "progress:" in process.stderr.readline()
        named = bench.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pooldeck-live-2'")
        assert named == 1
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()


def test_a_wrong_password_ends_without_asking(binary: Program, postgres: PostgresServer, tmp_path: Path) -> None:
    passfile = tmp_path / "pgpass"
    passfile.touch(mode=0o600)
    passfile.write_text(passfile_text("wrong"))
    built = build_command(
        validate({"clients": 1, "duration": 1}),
        purpose="load",
        binary=binary.path,
        home=tmp_path,
        endpoint=Endpoint(postgres.host, postgres.port, "postgres", postgres.superuser),
        application_name="pooldeck-live-3",
        version=binary.version,
    )
    ran = subprocess.run(
        built.argv,
        env=built.env,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
    )
    output = read_output(ran.stdout, ran.stderr)
    assert (ran.returncode, output.has_summary) == (1, False)
    assert "password authentication failed" in "\n".join(output.errors)


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A server that listens on IPv6 and on a Unix socket too."""
    sockets = Path(tempfile.mkdtemp(prefix="pooldeck-s"))  # a short path: a socket's has 107 bytes at the most
    sockets.chmod(0o777)
    settings = {"listen_addresses": "127.0.0.1,::1", "unix_socket_directories": str(sockets)}
    home = tmp_path_factory.mktemp("everywhere")
    with PostgresServer(home, free_port(), password=PASSWORD, settings=settings) as server:
        yield server
    shutil.rmtree(sockets)


@pytest.mark.parametrize("host_kind", ["ipv6", "socket"])
def test_any_kind_of_host_is_reached(
    binary: Program, everywhere: PostgresServer, tmp_path: Path, host_kind: str
) -> None:
    bench = Bench(binary, everywhere, "postgres", tmp_path)
    bench.role = everywhere.superuser
    bench.host = "::1" if host_kind == "ipv6" else everywhere.settings["unix_socket_directories"]
    assert bench.run({"scale": 1}, Purpose.PREPARE)[1] == (Validity.VALID, [])
    assert bench.run({"clients": 2, "transactions": 5})[0].summary["transactions"] == 10


def test_the_named_database_is_really_another_one(postgres: PostgresServer) -> None:
    """Without the nesting, libpq takes such a name for a whole connection string: the reason for all of this."""
    with pytest.raises(psycopg.OperationalError, match=r"127\.0\.0\.2"):
        psycopg.connect("host=127.0.0.2 port=1 connect_timeout=2", user=postgres.superuser)
