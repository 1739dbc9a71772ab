"""The command line and environment: exact, from nothing, and nothing hostile gets out of its place."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict

from benchmarks.engines.pgbench.command import build_command, preview
from benchmarks.engines.pgbench.option_catalog import LOAD, PREPARE
from benchmarks.engines.pgbench.options import validate
from benchmarks.errors import InvalidOptions
from pools.clusters.endpoints import Endpoint

ENDPOINT = Endpoint("db.example.com", 6432, "bench", "app", "s3cret-canary", "require")
TARGET = "host=db.example.com port=6432 user=app dbname=bench sslmode=require"


def command(
    raw: dict[str, Any], purpose: str = LOAD, endpoint: Endpoint = ENDPOINT, version: tuple[int, int] = (18, 1)
) -> tuple[list[str], dict[str, str]]:
    built = build_command(
        validate(raw, purpose=purpose),
        purpose=purpose,
        binary="/usr/bin/pgbench",
        home=Path("/run/of-its-own"),
        endpoint=endpoint,
        application_name="pooldeck-abc-1",
        version=version,
    )
    return built.argv, built.env


def test_a_default_run() -> None:
    assert shlex.join(command({})[0]) == (
        f"/usr/bin/pgbench -n -b select-only -c 10 -j 2 -T 30 -P 1 -M simple -l '{TARGET}'"
    )


def test_a_run_with_every_option() -> None:
    raw = {
        "builtin": "tpcb-like",
        "clients": 20,
        "threads": 4,
        "transactions": 100,
        "progress": 5,
        "connect": True,
        "protocol": "prepared",
        "rate": 12.5,
        "latency_limit": 100.0,
        "max_tries": 3,
        "failures_detailed": True,
        "verbose_errors": True,
        "exit_on_abort": True,
        "continue_on_error": True,
        "percentiles": True,
        "sampling_rate": 0.08,
        "report_per_command": True,
        "random_seed": 42,
    }
    expected = (
        "/usr/bin/pgbench -n -b tpcb-like -c 20 -j 4 -t 100 -P 5 -C -M prepared -R 12.5 -L 100 "
        "--max-tries=3 --failures-detailed --verbose-errors --exit-on-abort --continue-on-error "
        "-l --sampling-rate=0.08 -r --random-seed=42"
    )
    assert command(raw, version=(19, 0))[0] == [*expected.split(), TARGET]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({}, "-i -s 10"),
        ({"scale": 100}, "-i -s 100"),
        ({"scale": 101}, "-i -q -s 101"),  # a line every 5 s instead of one for 100,000 rows
        ({"scale": 3, "initialize_steps": "dtGvpf", "fillfactor": 90}, "-i -s 3 -I dtGvpf -F 90"),
        (
            {"scale": 3, "partitions": 4, "partition_method": "hash", "foreign_keys": True, "unlogged_tables": True}
            | {"tablespace": "-i", "index_tablespace": "fast"},
            "-i -s 3 --partitions=4 --partition-method=hash --foreign-keys --unlogged-tables --tablespace=-i "
            "--index-tablespace=fast",
        ),
    ],
)
def test_preparing_a_dataset(raw: dict[str, Any], words: str) -> None:
    assert command(raw, PREPARE)[0] == ["/usr/bin/pgbench", *words.split(), TARGET]


def test_the_environment_is_built_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGOPTIONS", "PGSERVICE", "PGPASSWORD", "PGHOSTADDR", "LD_PRELOAD"):
        monkeypatch.setenv(name, "hostile")
    assert command({})[1] == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/run/of-its-own",
        "LC_ALL": "C",
        "PG_COLOR": "never",
        "PGPASSFILE": "/run/of-its-own/pgpass",
        "PGCONNECT_TIMEOUT": "10",
        "PGAPPNAME": "pooldeck-abc-1",
        "PGREQUIREAUTH": "!password",
    }


@pytest.mark.parametrize("purpose", [LOAD, PREPARE])
def test_the_preview_is_the_same_command_without_the_password(purpose: str) -> None:
    options = validate({}, purpose=purpose)
    words, environment = command({}, purpose)
    assert shlex.split(preview(options, ENDPOINT, purpose=purpose, binary="/usr/bin/pgbench")) == words
    assert "s3cret-canary" not in " ".join([*words, *environment.values(), preview(options, ENDPOINT, purpose=purpose)])


@pytest.mark.parametrize("host", ["::1", "10.0.0.1", "/var/run/postgresql", "db.example.com"])
def test_any_kind_of_host_arrives_whole(host: str) -> None:
    target = command({}, endpoint=Endpoint(host, 5432, "bench", "app", sslmode="disable"))[0][-1]
    assert conninfo_to_dict(target)["host"] == host


def test_a_certificate_authority_is_named() -> None:
    endpoint = Endpoint("db", 5432, "bench", "app", sslmode="verify-full", sslrootcert="/var/lib/my ca.pem")
    assert conninfo_to_dict(command({}, endpoint=endpoint)[0][-1])["sslrootcert"] == "/var/lib/my ca.pem"


NAMES = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=63)
HOSTILE = st.sampled_from(
    [
        "-i",
        "--file=/etc/passwd",
        "host=evil.example",
        "postgresql://evil/x",
        "a' host='evil",
        "a\\",
        "dbname=x hostaddr=1",
    ]
)


@given(NAMES | HOSTILE, NAMES | HOSTILE)
def test_no_database_or_role_name_becomes_anything_else(database: str, user: str) -> None:
    endpoint = Endpoint("db", 5432, database, user, sslmode="prefer")
    words = command({}, endpoint=endpoint)[0]
    described = {"host": "db", "port": "5432", "user": user, "dbname": database, "sslmode": "prefer"}
    assert conninfo_to_dict(words[-1]) == described
    assert words[-1].startswith("host=")
    assert words[:-1] == command({})[0][:-1]


@pytest.mark.parametrize(
    ("raw", "version", "errors"),
    [
        ({"max_tries": 3}, (14, 9), {"max_tries": ["--max-tries needs pgbench 15 or newer; this one is 14.9"]}),
        (
            {"failures_detailed": True},
            (14, 0),
            {"failures_detailed": ["--failures-detailed needs pgbench 15 or newer; this one is 14.0"]},
        ),
        ({"random_seed": 0}, (10, 23), {"random_seed": ["--random-seed needs pgbench 11 or newer; this one is 10.23"]}),
    ],
)
def test_an_option_that_this_pgbench_does_not_know_is_refused(
    raw: dict[str, Any], version: tuple[int, int], errors: dict[str, list[str]]
) -> None:
    with pytest.raises(InvalidOptions) as caught:
        command(raw, version=version)
    assert caught.value.errors == errors


def test_a_default_run_suits_the_oldest_pgbench() -> None:
    assert command({}, version=(9, 6)) == command({})


def test_the_steps_left_at_their_default_suit_a_pgbench_without_steps() -> None:
    assert command({}, PREPARE, version=(10, 23))[0][1:-1] == ["-i", "-s", "10"]
