"""An engine's options and the panel's own, checked together."""

from typing import Any

import pytest

from benchmarks.engines import ENGINES
from benchmarks.errors import InvalidOptions
from benchmarks.runs.submission import options as load_options


def test_the_panels_own_stand_beside_the_engines():
    options = load_options.validate("pgbench", {"clients": 4, "warm_up": 5}, purpose="load")
    assert (options["clients"], options["duration"], options["warm_up"]) == (4, 30, 5)
    assert {"warm_up", "idle_connections"} <= {field.name for field in load_options.fields_for("pgbench", "load")}


def test_faults_of_both_are_told_together():
    with pytest.raises(InvalidOptions) as caught:
        load_options.validate("pgbench", {"clients": 0, "warm_up": -1, "file": "/etc/passwd"}, purpose="load")
    assert sorted(caught.value.errors) == ["clients", "file", "warm_up"]


def test_a_dataset_is_prepared_without_conditions():
    assert not {field.name for field in load_options.fields_for("pgbench", "prepare")} & {"warm_up", "vacuum"}
    with pytest.raises(InvalidOptions) as caught:
        load_options.validate("pgbench", {"warm_up": 5}, purpose="prepare")
    assert list(caught.value.errors) == ["warm_up"]


def test_what_fills_empty_tables_is_not_warmed_up_for():
    with pytest.raises(InvalidOptions) as caught:
        load_options.validate("sysbench", {"script": "bulk_insert", "warm_up": 5}, purpose="load")
    assert caught.value.errors == {
        "warm_up": [
            "bulk_insert needs the sysbench tables empty, and a warm-up of 5 s would fill them before the load begins: "
            "leave it out"
        ]
    }
    assert load_options.validate("sysbench", {"script": "oltp_insert", "warm_up": 5}, purpose="load")["warm_up"] == 5
    assert "warm_up" not in load_options.validate("sysbench", {"script": "bulk_insert"}, purpose="load")


def errors_of(engine: str, raw: dict[str, Any], purpose: str = "load") -> dict[str, list[str]]:
    with pytest.raises(InvalidOptions) as caught:
        load_options.validate(engine, raw, purpose=purpose)
    return caught.value.errors


def test_an_unknown_option_names_the_engines_and_the_panels_own():
    assert errors_of("pgbench", {"file": "/etc/passwd"}) == {
        "file": [
            "'file' is not an option here; use builtin, scripts, variables, scale, clients, threads, duration, stages, "
            "transactions, progress, connect, protocol, rate, latency_limit, max_tries, failures_detailed, "
            "verbose_errors, exit_on_abort, continue_on_error, percentiles, sampling_rate, report_per_command, "
            "random_seed, idle_connections, idle_reads, idle_at, settings_profile, vacuum, checkpoint, warm_up"
        ]
    }
    assert errors_of("sysbench", {"file": "x"}, "prepare") == {
        "file": ["'file' is not an option here; use action, kind, tables, table_size, scale, threads"]
    }


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_every_engine_names_all_options_that_hold_for_it(engine):
    names = ", ".join(field.name for field in load_options.fields_for(engine, "load"))
    assert errors_of(engine, {"qqq": 1})["qqq"] == [f"'qqq' is not an option here; use {names}"]


@pytest.mark.parametrize(
    ("engine", "name", "closest"),
    [
        ("pgbench", "client", "clients"),
        ("pgbench", "idle_connection", "idle_connections"),
        ("sysbench", "thread", "threads"),
        ("http", "concurency", "concurrency"),
        ("jmeter", "plans", "plan"),
    ],
)
def test_a_misspelled_option_names_the_closest_one(engine, name, closest):
    reason = errors_of(engine, {name: 1})[name][0]
    assert reason.startswith(f"'{name}' is not an option here: did you mean {closest}? Use ")


@pytest.mark.parametrize(
    ("engine", "name", "purpose", "reason"),
    [
        (
            "pgbench",
            "fillfactor",
            "load",
            "fillfactor is set when a dataset is prepared; a run uses the tables as they are: leave it out",
        ),
        (
            "http",
            "rows",
            "load",
            "rows is set when a dataset is prepared; a run uses the tables as they are: leave it out",
        ),
        ("pgbench", "clients", "prepare", "clients is an option of a run, not of preparing a dataset: leave it out"),
        ("sysbench", "warm_up", "prepare", "warm_up is an option of a run, not of preparing a dataset: leave it out"),
        ("jmeter", "qqq", "prepare", "'qqq' is not an option here: leave it out"),
    ],
)
def test_an_option_of_the_other_purpose_is_refused_with_it(engine, name, purpose, reason):
    assert errors_of(engine, {name: 1}, purpose)[name] == [reason]


def test_options_that_are_empty_count_as_left_out():
    assert load_options.validate("pgbench", {"file": None, "fillfactor": ""}, purpose="load")["clients"] == 10
