"""What is taken, filled and refused of sysbench's options."""

from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from benchmarks.engines.sysbench.binary import host_files
from benchmarks.engines.sysbench.options import fields_for, file_needed, validate
from benchmarks.errors import InvalidOptions


def test_left_out_is_filled_with_what_a_first_run_wants() -> None:
    assert validate({}) == {
        "script": "oltp_read_only",
        "threads": 10,
        "duration": 30,
        "tables": 1,
        "table_size": 10_000,
        "scale": None,
        "events": None,
        "rate": None,
        "rand_type": None,
        "db_ps_mode": "disable",
        "skip_trx": False,
        "percentile": "95",
    }
    assert validate({}, purpose="prepare") == {
        "action": "fill",
        "kind": "oltp",
        "tables": 1,
        "table_size": 10_000,
        "scale": None,
        "threads": 1,
    }


def test_events_take_the_place_of_a_duration() -> None:
    assert validate({"events": "500"})["duration"] is None


@pytest.mark.parametrize(
    ("raw", "purpose", "errors"),
    [
        ({"threads": 0}, "load", {"threads": ["0 is out of range: use 1 to 4,096"]}),
        ({"script": "../x.lua"}, "load", {"script": None}),
        (
            {"events": 5, "duration": 5},
            "load",
            {"events": ["5 events and a duration of 5 s exclude each other: leave one empty"]},
        ),
        ({"scale": 5}, "load", {"scale": ["warehouses are tpcc's: leave this out"]}),
        ({"table_size": "1; DROP"}, "prepare", {"table_size": None}),
    ],
)
def test_what_can_not_be_is_refused_by_name(raw: dict[str, Any], purpose: str, errors: dict[str, Any]) -> None:
    with pytest.raises(InvalidOptions) as refused:
        validate(raw, purpose=purpose)
    assert set(refused.value.errors) == set(errors)
    assert {name: refused.value.errors[name] for name, reported in errors.items() if reported} == {
        name: reported for name, reported in errors.items() if reported
    }


@pytest.mark.parametrize(("raw", "purpose"), [({"script": "tpcc"}, "load"), ({"kind": "tpcc"}, "prepare")])
def test_tpcc_needs_its_script_of_the_generator_whatever_this_host_has(
    raw: dict[str, Any], purpose: str, settings: Settings
) -> None:
    settings.SYSBENCH_SCRIPTS = ""
    checked = validate(raw | {"scale": 2}, purpose=purpose)
    assert (checked["scale"], file_needed(checked)) == (2, (next(iter(raw)), "tpcc.lua"))
    assert file_needed(validate({}, purpose=purpose)) is None


def test_a_host_tells_whether_it_can_run_tpcc(settings: Settings, tmp_path: Path) -> None:
    settings.SYSBENCH_SCRIPTS = ""
    assert "name that in POOLDECK_SYSBENCH_SCRIPTS" in host_files()["tpcc.lua"]
    settings.SYSBENCH_SCRIPTS = str(tmp_path)
    assert host_files()["tpcc.lua"].startswith("there is no tpcc.lua in POOLDECK_SYSBENCH_SCRIPTS=")
    (tmp_path / "tpcc.lua").touch()
    assert host_files() == {"tpcc.lua": ""}


def test_every_field_has_a_label_and_a_purpose() -> None:
    for purpose in ("load", "prepare"):
        assert all(field.label and field.purpose == purpose for field in fields_for(purpose))
