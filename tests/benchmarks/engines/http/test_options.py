"""The options of an HTTP run, and the words that they become."""

from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from benchmarks.engines.http.command import build_command, find, preview, service_command
from benchmarks.engines.http.options import OF_POOL, extra_connections, validate
from benchmarks.engines.http.tables import tables_of
from benchmarks.engines.load_output import log_files
from benchmarks.errors import InvalidOptions
from pools.clusters.endpoints import Endpoint

ENDPOINT = Endpoint("db.example", 5432, "shop", "app", "secret", "prefer")
HOME = Path("/run/home")


def argv(raw: dict[str, Any], purpose: str = "load") -> list[str]:
    common: dict[str, Any] = {"binary": "python", "home": HOME, "endpoint": ENDPOINT, "application_name": "pooldeck-1"}
    command = build_command(validate(raw, purpose=purpose) | raw, purpose=purpose, version=(3, 11), **common)
    assert not any("secret" in word for word in [*command.argv, *command.env.values()])
    return command.argv


def test_left_out_is_filled() -> None:
    assert validate({}) == {
        "workload": "products",
        "connection": "pooled",
        "pool_size": 90,
        "pool_idle": None,
        "pool_lifetime": None,
        "pool_idle_time": None,
        "concurrency": 20,
        "duration": 30,
        "url": None,
        "new_connections": False,
        "timeout": 20.0,
    }
    assert validate({}, purpose="prepare") == {"action": "fill", "rows": 20_000}


@pytest.mark.parametrize("raw", [{"connection": "new"}, {"connection": "normal"}, {"url": "http://shop.example/"}])
def test_only_a_service_with_a_pool_keeps_one(raw: dict[str, Any], settings: Settings) -> None:
    settings.HTTP_ALLOW = ["shop.example"]
    options = validate(raw | {"pool_size": 40, "pool_idle": 10, "pool_lifetime": 60, "pool_idle_time": 5})
    assert ([options[name] for name in OF_POOL], extra_connections(options)) == ([None] * 4, {})
    assert extra_connections(validate({"pool_size": 40})) == {"pool_size": 40}


@pytest.mark.parametrize(
    ("raw", "purpose", "wrong"),
    [
        ({"concurrency": 0}, "load", "concurrency"),
        ({"connection": "spare"}, "load", "connection"),
        ({"pool_size": 0}, "load", "pool_size"),
        ({"pool_size": 10, "pool_idle": 11}, "load", "pool_idle"),
        ({"pool_idle": 91}, "load", "pool_idle"),
        ({"pool_lifetime": 0}, "load", "pool_lifetime"),
        ({"pool_idle_time": "long"}, "load", "pool_idle_time"),
        ({"workload": "orders"}, "load", "workload"),
        ({"url": 5}, "load", "url"),
        ({"rows": 10}, "prepare", "rows"),
    ],
)
def test_what_can_not_be_is_refused_by_name(raw: dict[str, Any], purpose: str, wrong: str) -> None:
    with pytest.raises(InvalidOptions) as refused:
        validate(raw, purpose=purpose)
    assert list(refused.value.errors) == [wrong]


def test_a_load_reads_its_target_from_a_file() -> None:
    words = ["--target=target.json", "--concurrency=5", "--duration=30", "--new-connections", "--timeout=2.5"]
    asked = {"concurrency": 5, "new_connections": True, "timeout": 2.5}
    assert argv(asked) == ["python", "-m", "benchmarks.load_programs.http_client", *words, "--log=requests.log"]
    common: dict[str, Any] = {"purpose": "load", "binary": "python", "home": HOME, "endpoint": ENDPOINT}
    warm = build_command(
        validate({}) | {"percentiles": False}, version=(3, 11), application_name="pooldeck-1", **common
    )
    assert warm.argv[-1] == "--timeout=20"
    assert "PGHOST" not in warm.env


def test_a_preparation_fills_or_drops_the_table() -> None:
    assert argv({"rows": 5_000}, "prepare") == ["python", "-m", "benchmarks.load_programs.products.seed", "--rows=5000"]
    assert argv({"action": "drop"}, "prepare")[-1] == "--drop"


def test_the_service_logs_in_by_its_environment_without_a_password() -> None:
    common: dict[str, Any] = {"binary": "python", "home": HOME, "endpoint": ENDPOINT, "application_name": "pooldeck-1"}
    command = service_command(validate({"pool_size": 7}), **common)
    assert command.argv == ["python", "-m", "benchmarks.load_programs.products.app", "--pool-size=7"]
    assert service_command(validate({"connection": "new"}), **common).argv == command.argv[:3]
    published = {"pool_size": 90, "pool_idle": 50, "pool_lifetime": 120, "pool_idle_time": 2.5}
    words = ["--pool-size=90", "--pool-idle=50", "--pool-lifetime=120", "--pool-idle-time=2.5"]
    assert service_command(validate(published), **common).argv[3:] == words
    assert preview(validate(published), ENDPOINT).endswith(f"/products/pooled {' '.join(words)}")
    assert {name: value for name, value in command.env.items() if name.startswith("PG")} == {
        "PGHOST": "db.example",
        "PGPORT": "5432",
        "PGUSER": "app",
        "PGDATABASE": "shop",
        "PGSSLMODE": "prefer",
        "PGAPPNAME": "pooldeck-1",
        "PGREQUIREAUTH": "!password",
        "PGCONNECT_TIMEOUT": "10",
        "PGPASSFILE": "/run/home/pgpass",
    }
    assert not any("secret" in value for value in command.env.values())


def test_the_table_is_needed_by_the_workload_alone() -> None:
    wanted = tables_of({}, purpose="load")
    assert wanted is not None
    assert (wanted.names, wanted.size, wanted.writes) == (("products",), 1_000, "")
    assert tables_of({"url": "http://shop.example"}, purpose="load") is None
    assert log_files({}) is not None


def test_its_program_is_the_panels_own_python() -> None:
    assert find().version_text.startswith("Python 3.")
    line = preview(validate({}), ENDPOINT)
    assert line.startswith("python -m benchmarks.load_programs.http_client")
    assert line.endswith("  # target.json: /products/pooled --pool-size=90")
