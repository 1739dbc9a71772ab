"""Stages of a load: how they are read, refused, and made into commands."""

from pathlib import Path

import pytest

from benchmarks.engines.pgbench import command, stages
from benchmarks.engines.pgbench.options import unsupported_options, validate
from benchmarks.engines.pgbench.transaction_log import log_files
from benchmarks.engines.stage_lines import written
from benchmarks.errors import InvalidOptions
from pools.clusters.endpoints import Endpoint

ASKED = [{"duration_s": 30, "clients": 10}, {"duration_s": 120, "clients": 50, "rate": 500.0}]
ENDPOINT = Endpoint("127.0.0.1", 5432, "app", "shop", "")


def faults(**given):
    with pytest.raises(InvalidOptions) as caught:
        validate(given)
    return caught.value.errors


def test_lines_and_objects_are_the_same_stages_and_are_written_back() -> None:
    options = validate({"stages": " 30s 10\r\n\n2m  50 500/s"})
    assert options["stages"] == validate({"stages": ASKED})["stages"] == ASKED
    assert written(ASKED) == "30s 10\n2m 50 500/s"
    assert written([{"duration_s": 7200, "clients": 1, "rate": 0.5}]) == "2h 1 0.5/s"


def test_the_whole_load_has_the_most_clients_and_all_the_time_and_is_valid_again() -> None:
    options = validate({"stages": ASKED, "clients": None, "duration": ""})
    assert (options["clients"], options["duration"], options["rate"]) == (50, 150, None)
    assert validate(options) == options


@pytest.mark.parametrize("nothing", [{}, {"stages": None}, {"stages": ""}, {"stages": []}, {"stages": " \n"}])
def test_a_constant_load_has_no_word_of_stages(nothing) -> None:
    assert "stages" not in validate(nothing)
    assert stages.stages(validate(nothing)) == [validate(nothing)]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (
            "30s 10\n40 x",
            "line 2 is '40 x': write a duration, a number of clients and, if there is one, a rate, such as 30s 10 or "
            "2m 50 500/s",
        ),
        ("30s 0", "line 1: clients: 0 is out of range: use 1 to 10,000"),
        ("0s 1", "line 1: duration_s: 0 is out of range: use 1 to 86,400 s"),
        ("1s 1 0/s", "line 1: rate: 0.0 is out of range: use 0.001 to 10,000,000 transactions/s"),
        ("24h 1\n1s 1", "the stages last 86,401 s together: use at most 86,400 s"),
        ("1s 1\n" * 21, "21 stages are too many: use at most 20"),
        (3, 'give a list of stages: [{"duration_s": 30, "clients": 10}]'),
        ([3], 'stage 1: 3 is not a stage: use {"duration_s": 30, "clients": 10}, with a rate if it has one'),
        ([{"duration_s": 3}], "stage 1: clients is missing: each stage needs one"),
        (
            [{"duration_s": 3, "clients": 1, "tps": 1}],
            "stage 1: 'tps' is not a part of a stage: use duration_s, clients, rate",
        ),
        (
            [{"duration_s": 3, "clients": 1.5}],
            "stage 1: clients: 1.5 is not a whole number: use 1 to 10,000",
        ),
    ],
)
def test_a_wrong_stage_is_named(given, reason) -> None:
    assert faults(stages=given) == {"stages": [reason]}


def test_what_stages_have_themselves_is_refused_beside_them() -> None:
    errors = faults(stages=ASKED, clients=3, rate=3, transactions=3, report_per_command=True)
    assert errors == {
        "clients": ["3 is not the 50 of the stages: leave it out, or leave out the stages"],
        "rate": ["stages have rates of their own: leave it out, and give the rate of each stage, such as 30s 10 500/s"],
        "transactions": [
            "each stage ends by its duration: leave the number of transactions out, or leave out the stages",
            "3 transactions and a duration of 150 s exclude each other: leave one of them empty",
        ],
        "report_per_command": [
            "the latency of each statement is not kept by stage: leave it out, or leave out the stages"
        ],
    }


def test_each_stage_is_a_command_with_a_log_of_its_own(tmp_path: Path) -> None:
    options = validate({"stages": [{"duration_s": 5, "clients": 1}, *ASKED[1:]], "threads": 4})
    of_stages = stages.stages(options)
    built = [
        command.build_command(
            one,
            purpose="load",
            binary="pgbench",
            home=tmp_path,
            endpoint=ENDPOINT,
            application_name="run",
            version=(15, 18),
        ).argv
        for one in of_stages
    ]
    first, second = (words[2:-1] for words in built)
    assert first == [
        *("-b", "select-only", "--log-prefix=pgbench_log_1", "-c", "1", "-j", "1", "-T", "5"),
        *("-P", "1", "-M", "simple", "-l"),
    ]
    assert second == [
        *("-b", "select-only", "--log-prefix=pgbench_log_2", "-c", "50", "-j", "4", "-T", "120"),
        *("-P", "1", "-M", "simple", "-R", "500", "-l"),
    ]
    logs = [log_files(one) for one in of_stages]
    assert [(one.pattern, one.scheduled) for one in logs if one] == [
        ("pgbench_log_1.*", False),
        ("pgbench_log_2.*", True),
    ]


def test_without_a_log_there_is_no_prefix() -> None:
    silent = stages.stages(validate({"stages": ASKED, "percentiles": False}))
    assert [command.preview(one, ENDPOINT).count("log") for one in silent] == [0, 0]


def test_stages_need_pgbench_10() -> None:
    assert unsupported_options(validate({"stages": ASKED}), (9, 6)) == {
        "stages": ["stages needs pgbench 10 or newer; this one is 9.6"]
    }
    assert unsupported_options(validate({"stages": ASKED}), (10, 0)) == {}


def test_several_generators_share_no_stages() -> None:
    assert stages.unshardable(validate({"stages": ASKED})) == {
        "stages": ["a load with stages runs on one generator: name one, or leave out the stages"]
    }
    assert stages.unshardable(validate({})) == {}


def test_another_rate_makes_the_rest_of_a_constant_load_a_stage() -> None:
    changed = stages.with_rate(validate({"clients": 4, "duration": 30, "rate": 100}), 1, 12, 500.0)
    assert (changed["duration"], changed["clients"], changed["rate"]) == (30, 4, None)
    assert changed["stages"] == [
        {"duration_s": 12, "clients": 4, "rate": 100.0},
        {"duration_s": 18, "clients": 4, "rate": 500.0},
    ]
    again = stages.with_rate(changed, 2, 17, None)
    assert again["stages"][1:] == [{"duration_s": 17, "clients": 4, "rate": 500.0}, {"duration_s": 1, "clients": 4}]
    assert validate({"stages": again["stages"]})["stages"] == again["stages"]


def test_another_rate_leaves_the_other_stages_as_they_are() -> None:
    changed = stages.with_rate(validate({"stages": ASKED}), 1, 2, 7.0)
    first, rest, *others = changed["stages"]
    assert (first, others) == ({**ASKED[0], "duration_s": 2}, ASKED[1:])
    assert rest == {"duration_s": ASKED[0]["duration_s"] - 2, "clients": ASKED[0]["clients"], "rate": 7.0}
