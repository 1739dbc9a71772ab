"""The words and files that start sysbench."""

from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from benchmarks.engines.sysbench.command import build_command, preview
from benchmarks.engines.sysbench.options import validate
from benchmarks.engines.sysbench.tables import tables_of
from benchmarks.errors import Refused
from benchmarks.processes.command import Command
from pools.clusters.endpoints import Endpoint

ENDPOINT = Endpoint("db.example", 5432, "a 'b' host=x", "-app", "secret", "verify-full", "/run/root.crt")


def built(raw: dict[str, Any], purpose: str = "load") -> Command:
    return build_command(
        validate(raw, purpose=purpose),
        purpose=purpose,
        binary="/usr/bin/sysbench",
        home=Path("/run/home"),
        endpoint=ENDPOINT,
        application_name="pooldeck-1",
        version=(1, 0),
    )


CONNECTION = [
    "/usr/bin/sysbench",
    "--db-driver=pgsql",
    "--pgsql-host=db.example",
    "--pgsql-port=5432",
    "--pgsql-user=-app",
    "--pgsql-db=dbname='a \\'b\\' host=x' sslmode=verify-full sslrootcert=/run/root.crt",
]


def test_a_load_is_a_script_with_its_options_and_no_password() -> None:
    command = built({"script": "oltp_read_write", "threads": 4, "rate": 100, "skip_trx": True, "rand_type": "uniform"})
    assert command.argv == [
        *CONNECTION,
        "--report-interval=1",
        "--histogram=on",
        "--threads=4",
        "--time=30",
        "--tables=1",
        "--table-size=10000",
        "--rate=100",
        "--rand-type=uniform",
        "--db-ps-mode=disable",
        "--skip-trx=on",
        "--percentile=95",
        "oltp_read_write",
        "run",
    ]
    assert command.env == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/run/home",
        "LC_ALL": "C",
        "PGPASSFILE": "/run/home/pgpass",
        "PGCONNECT_TIMEOUT": "10",
        "PGAPPNAME": "pooldeck-1",
    }
    assert command.files == {}


def test_events_end_a_load_without_a_time() -> None:
    argv = built({"script": "bulk_insert", "events": 9, "threads": 2}).argv
    assert argv[6:] == [
        *("--report-interval=1", "--histogram=on", "--threads=2", "--events=9", "--db-ps-mode=disable"),
        *("--percentile=95", "--time=0", "bulk_insert", "run"),
    ]


@pytest.mark.parametrize(
    ("raw", "part"),
    [
        ({}, "create_table(drv, counted(con), number)"),
        ({"kind": "bulk_insert"}, "(id INTEGER NOT NULL, k INTEGER"),
        ({"action": "drop"}, "local function make() end"),
    ],
)
def test_a_preparation_runs_a_script_of_the_panels_own(raw: dict[str, Any], part: str) -> None:
    command = built(raw, "prepare")
    assert command.argv[-2:] == ["./remake.lua", "prepare"]
    assert part in command.files["remake.lua"]


def test_tpcc_comes_from_its_folder(settings: Settings, tmp_path: Path) -> None:
    settings.SYSBENCH_SCRIPTS = str(tmp_path)
    (tmp_path / "tpcc.lua").touch()
    command = built({"script": "tpcc", "scale": 3, "duration": 5})
    assert command.argv[-6:] == [
        *("--tables=1", "--scale=3", "--db-ps-mode=disable", "--percentile=95"),
        *(f"{tmp_path}/tpcc.lua", "run"),
    ]
    assert command.env["LUA_PATH"] == f"{tmp_path}/?.lua;;"
    assert built({"kind": "tpcc"}, "prepare").argv[-3:] == ["--use-fk=0", f"{tmp_path}/tpcc.lua", "prepare"]
    assert built({"kind": "tpcc", "action": "drop"}, "prepare").argv[-1] == "cleanup"
    names = tables_of({"script": "tpcc", "tables": 2}, purpose="load").names
    assert (len(names), names[0], names[-1]) == (18, "customer1", "warehouse2")


def test_tpcc_is_refused_by_the_host_that_lacks_it_and_shown_by_any(settings: Settings) -> None:
    settings.SYSBENCH_SCRIPTS = ""
    with pytest.raises(Refused, match="tpcc needs its scripts"):
        built({"script": "tpcc", "scale": 3})
    assert preview(validate({"script": "tpcc", "scale": 3}), ENDPOINT).endswith(" tpcc.lua run")


def test_the_preview_is_what_a_shell_takes() -> None:
    line = preview(validate({}), ENDPOINT)
    assert line.startswith("sysbench --db-driver=pgsql --pgsql-host=db.example")
    assert "secret" not in line


@pytest.mark.parametrize(
    ("script", "writes"), [("oltp_read_only", ""), ("oltp_insert", "oltp_insert"), ("bulk_insert", "bulk_insert")]
)
def test_a_writing_script_is_known_as_one(script: str, writes: str) -> None:
    assert tables_of(validate({"script": script}), purpose="load").writes == writes
