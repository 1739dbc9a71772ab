"""Options are taken as typed, filled where left out, or refused with the value and the remedy."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.engines.pgbench.option_catalog import FIELDS, LOAD, PREPARE
from benchmarks.engines.pgbench.options import fields_for, server_refuses, unsupported_options, validate
from benchmarks.errors import InvalidOptions
from tests.drawing import examples

DEFAULTS = {
    "builtin": "select-only",
    "scripts": None,
    "variables": None,
    "clients": 10,
    "threads": 2,
    "scale": None,
    "duration": 30,
    "transactions": None,
    "progress": 1,
    "connect": False,
    "protocol": "simple",
    "rate": None,
    "latency_limit": None,
    "max_tries": None,
    "failures_detailed": False,
    "verbose_errors": False,
    "exit_on_abort": False,
    "continue_on_error": False,
    "percentiles": True,
    "sampling_rate": None,
    "report_per_command": False,
    "random_seed": None,
}
DATASET_DEFAULTS = {
    "scale": 10,
    "initialize_steps": "dtgvp",
    "fillfactor": None,
    "partitions": None,
    "partition_method": None,
    "foreign_keys": False,
    "unlogged_tables": False,
    "tablespace": None,
    "index_tablespace": None,
}


def errors_of(raw: dict[str, Any], purpose: str = LOAD) -> dict[str, list[str]]:
    with pytest.raises(InvalidOptions) as caught:
        validate(raw, purpose=purpose)
    return caught.value.errors


def test_nothing_typed_is_a_short_read_only_run() -> None:
    assert validate({}) == DEFAULTS


def test_a_dataset_has_options_of_its_own() -> None:
    assert validate({}, purpose=PREPARE) == DATASET_DEFAULTS
    chosen = {"partitions": 4, "partition_method": "hash", "foreign_keys": True, "tablespace": "fast disks"}
    assert validate(chosen, purpose=PREPARE) == DATASET_DEFAULTS | chosen


def test_text_from_a_form_becomes_typed_and_an_empty_field_its_default() -> None:
    raw = {
        "clients": "20",
        "rate": "12.5",
        "connect": "on",
        "duration": "",
        "latency_limit": None,
        "protocol": "prepared",
    }
    assert validate(raw) == DEFAULTS | {"clients": 20, "rate": 12.5, "connect": True, "protocol": "prepared"}


def test_counted_transactions_take_the_place_of_the_duration() -> None:
    assert validate({"transactions": 100}) == DEFAULTS | {"transactions": 100, "duration": None}


def test_a_default_of_threads_never_exceeds_the_clients() -> None:
    assert validate({"clients": 1}) == DEFAULTS | {"clients": 1, "threads": 1}


@pytest.mark.parametrize(
    ("raw", "errors"),
    [
        ({"clients": 0}, {"clients": ["0 is out of range: use 1 to 10,000"]}),
        ({"clients": 10_001}, {"clients": ["10,001 is out of range: use 1 to 10,000"]}),
        ({"clients": "ten"}, {"clients": ["'ten' is not a whole number: use 1 to 10,000"]}),
        ({"clients": 1.5}, {"clients": ["1.5 is not a whole number: use 1 to 10,000"]}),
        ({"clients": True}, {"clients": ["True is not a whole number: use 1 to 10,000"]}),
        ({"clients": [4]}, {"clients": ["[4] is not a whole number: use 1 to 10,000"]}),
        ({"duration": 10**9}, {"duration": ["1,000,000,000 is out of range: use 1 to 86,400 s"]}),
        ({"rate": "fast"}, {"rate": ["'fast' is not a number: use 0.001 to 10,000,000 transactions/s"]}),
        ({"rate": float("nan")}, {"rate": ["nan is not a number: use 0.001 to 10,000,000 transactions/s"]}),
        ({"rate": 0}, {"rate": ["0.0 is out of range: use 0.001 to 10,000,000 transactions/s"]}),
        ({"connect": "maybe"}, {"connect": ["'maybe' is neither true nor false: use one of these for connect"]}),
        (
            {"builtin": "select"},
            {
                "builtin": [
                    "'select' is not a script here: use select-only, simple-update, tpcb-like, or one with @WEIGHT"
                ]
            },
        ),
        ({"protocol": 3}, {"protocol": ["3 is not a choice of “Protocol”: use one of simple, extended, prepared"]}),
        ({"clients": 2, "threads": 4}, {"threads": ["4 threads are more than 2 clients: use at most 2"]}),
        (
            {"transactions": 5, "duration": 6},
            {
                "transactions": [
                    "5 transactions and a duration of 6 s exclude each other: leave one of them empty",
                ]
            },
        ),
        (
            {"transactions": 5, "max_tries": 0},
            {"max_tries": ["0 tries without end: set a duration or a latency limit, or a number of tries"]},
        ),
        (
            {"sampling_rate": 0.5, "percentiles": False},
            {"sampling_rate": ["nothing is logged without percentiles: ask for them, or leave the share empty"]},
        ),
        (
            {"sampling_rate": 1.5},
            {"sampling_rate": ["1.5 is out of range: use 0.0001 to 1"]},
        ),
        (
            {"scale": 5},
            {
                "scale": [
                    "pgbench counts the scale itself for select-only, for other scripts beside it too: leave it out"
                ]
            },
        ),
        (
            {"scripts": [{"text": "\\set aid random(1, 100000 * :scale)\nSELECT :aid;"}]},
            {"scale": ["script 1 reads :scale, which would be 1: give the scale of the tables it works on"]},
        ),
    ],
)
def test_what_can_not_be_is_refused_with_the_value_and_the_remedy(raw: dict[str, Any], errors: dict[str, Any]) -> None:
    assert errors_of(raw) == errors


@pytest.mark.parametrize(
    "text",
    ["\\set scale 5\nSELECT :scale;", "SELECT 5 AS scale \\gset\nSELECT :scale;", "SELECT 1::scale, :scaled;"],
)
def test_a_script_that_sets_the_scale_or_never_reads_it_needs_none(text: str) -> None:
    assert validate({"scripts": [{"text": text}]})["scale"] is None


def test_the_scale_is_given_to_scripts_of_users_alone() -> None:
    reading = [{"text": "SELECT :scale;"}]
    assert validate({"scripts": reading, "scale": 5})["scale"] == 5
    assert validate({"scripts": reading, "builtin": "select-only"})["scale"] is None  # counted from the tables


def test_every_fault_is_told_at_once() -> None:
    raw = {"clients": 0, "duration": -1, "transactions": 3, "protocol": "x"}
    assert sorted(errors_of(raw)) == ["clients", "duration", "protocol"]


@pytest.mark.parametrize(
    ("raw", "errors"),
    [
        ({"scale": 0}, {"scale": ["0 is out of range: use 1 to 99,999"]}),
        ({"scale": 100_000}, {"scale": ["100,000 is out of range: use 1 to 99,999"]}),
        ({"fillfactor": 5}, {"fillfactor": ["5 is out of range: use 10 to 100 %"]}),
        (
            {"initialize_steps": "dtx"},
            {"initialize_steps": ["'dtx' is not a list of steps: use letters of dtgGvpf, each once"]},
        ),
        (
            {"initialize_steps": "dd"},
            {"initialize_steps": ["'dd' is not a list of steps: use letters of dtgGvpf, each once"]},
        ),
        (
            {"initialize_steps": "dtgG"},
            {"initialize_steps": ["'dtgG' makes no dataset: include t and either g or G, or use d alone to drop one"]},
        ),
        (
            {"initialize_steps": "dv"},
            {"initialize_steps": ["'dv' makes no dataset: include t and either g or G, or use d alone to drop one"]},
        ),
        (
            {"partition_method": "hash"},
            {"partition_method": ["there are no partitions: set their number, or leave the method empty"]},
        ),
        ({"partitions": -1}, {"partitions": ["-1 is out of range: use 0 to 10,000"]}),
        ({"tablespace": "a\nb"}, {"tablespace": ["'a\\nb' is not a name: use at most 63 printable bytes"]}),
        ({"tablespace": 7}, {"tablespace": ["7 is not a name: use at most 63 printable bytes"]}),
        (
            {"index_tablespace": "ö" * 32},
            {"index_tablespace": [f"'{'ö' * 32}' is not a name: use at most 63 printable bytes"]},
        ),
    ],
)
def test_a_dataset_that_can_not_be_is_refused(raw: dict[str, Any], errors: dict[str, Any]) -> None:
    assert errors_of(raw, PREPARE) == errors


@pytest.mark.parametrize(
    ("options", "version", "names"),
    [
        ({"continue_on_error": True}, (18, 1), {"continue_on_error": "--continue-on-error needs pgbench 19"}),
        ({"exit_on_abort": True}, (16, 2), {"exit_on_abort": "--exit-on-abort needs pgbench 17"}),
        ({"verbose_errors": True}, (14, 9), {"verbose_errors": "--verbose-errors needs pgbench 15"}),
        ({"partitions": 3}, (12, 0), {"partitions": "--partitions needs pgbench 13"}),
        ({"initialize_steps": "dtGvp"}, (12, 0), {"initialize_steps": "step G needs pgbench 13"}),
        ({"initialize_steps": "dtGvp"}, (10, 0), {"initialize_steps": "-I needs pgbench 11"}),
        ({"percentiles": True, "sampling_rate": 0.5, "foreign_keys": True, "tablespace": "t"}, (9, 6), {}),
    ],
)
def test_an_option_younger_than_the_program_is_named(
    options: dict[str, Any], version: tuple[int, int], names: dict[str, str]
) -> None:
    found = {
        name: messages[0].partition(" or newer")[0] for name, messages in unsupported_options(options, version).items()
    }
    assert found == names


@pytest.mark.parametrize(
    ("options", "version", "server", "refused"),
    [
        ({"unlogged_tables": True, "partitions": 4}, (15, 18), 18, True),
        ({"unlogged_tables": True, "partitions": 4}, (17, 2), 19, True),
        ({"unlogged_tables": True, "partitions": 4}, (17, 2), 17, False),
        ({"unlogged_tables": True, "partitions": 4}, (18, 0), 18, False),
        ({"unlogged_tables": True, "partitions": 0}, (15, 18), 18, False),
        ({"unlogged_tables": True}, (15, 18), 18, False),
        ({"unlogged_tables": False, "partitions": 4}, (15, 18), 18, False),
    ],
)
def test_unlogged_partitions_are_refused_where_pgbench_would_drop_tables_and_fail(
    options: dict[str, Any], version: tuple[int, int], server: int, refused: bool
) -> None:
    assert bool(server_refuses(validate(options, purpose=PREPARE), version, server)) is refused


def test_the_error_in_one_line_names_the_options() -> None:
    assert str(InvalidOptions({"clients": ["too many"], "rate": ["too fast"]})) == "clients: too many; rate: too fast"


def test_the_catalog_can_be_shown() -> None:
    assert [field.name for field in FIELDS if not (field.label and field.help)] == []
    assert [field.name for field in FIELDS if not field.flag.startswith("-")] == ["stages"]  # several processes
    assert len({(field.purpose, field.flag) for field in FIELDS}) == len(FIELDS)
    for purpose in (LOAD, PREPARE):
        defaults = {field.name: field.default for field in fields_for(purpose) if field.name != "transactions"}
        assert validate(defaults, purpose=purpose) == validate({}, purpose=purpose)


JUNK = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.lists(st.integers(), max_size=2)
)


@settings(max_examples=examples(500), deadline=None)
@given(
    st.dictionaries(st.sampled_from([field.name for field in FIELDS] + ["file"]), JUNK),
    st.sampled_from([LOAD, PREPARE]),
)
def test_any_values_are_either_refused_or_stable_json(raw: dict[str, Any], purpose: str) -> None:
    try:
        options = validate(raw, purpose=purpose)
    except InvalidOptions as invalid:
        errors = invalid.errors
    else:
        errors = {}
        assert validate(json.loads(json.dumps(options, allow_nan=False)), purpose=purpose) == options
    assert [name for name, messages in errors.items() if not messages or name not in {*raw, "threads"}] == []
