"""An engine's options and the panel's own, checked together."""

import pytest

from benchmarks.errors import InvalidOptions
from benchmarks.runs.submission import options as load_options


def test_the_panels_own_stand_beside_the_engines():
    options = load_options.validate("pgbench", {"clients": 4, "warm_up": 5}, purpose="load")
    assert (options["clients"], options["duration"], options["warm_up"]) == (4, 30, 5)
    assert {"warm_up", "idle_connections"} <= {field.name for field in load_options.fields_for("pgbench", "load")}


def test_faults_of_both_are_told_together():
    with pytest.raises(InvalidOptions) as caught:
        load_options.validate("pgbench", {"clients": 0, "warm_up": -1}, purpose="load")
    assert sorted(caught.value.errors) == ["clients", "warm_up"]


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
