"""The scripts of a run: built-in and of users, with weights; gated, numbered and put into words."""

import pytest

from benchmarks.engines.pgbench import scripts
from benchmarks.engines.pgbench.options import unsupported_options, validate
from benchmarks.errors import InvalidOptions

ONE = {"text": "SELECT 1;"}


def errors_of(**raw):
    with pytest.raises(InvalidOptions) as refused:
        validate(raw)
    return refused.value.errors


def test_scripts_of_users_take_the_place_of_the_usual_one():
    checked = validate({"scripts": [ONE, {"text": "SELECT 2;", "weight": "7", "name": "two", "version": 3}]})
    assert checked["builtin"] is None
    assert checked["scripts"] == [
        {"text": "SELECT 1;", "weight": 1, "name": "", "version": None},
        {"text": "SELECT 2;", "weight": 7, "name": "two", "version": 3},
    ]
    assert validate(checked) == checked


def test_built_in_scripts_are_mixed_by_weight():
    assert validate({"builtin": "tpcb-like@2"})["builtin"] == "tpcb-like@2"
    assert validate({"builtin": ["select-only@8", "tpcb-like"]})["builtin"] == ["select-only@8", "tpcb-like"]
    assert validate({"builtin": ["simple-update"]})["builtin"] == "simple-update"


def test_they_are_numbered_as_pgbench_reports_them():
    checked = validate({"builtin": ["select-only@8", "tpcb-like"], "scripts": [ONE, ONE | {"name": "x", "version": 2}]})
    assert [(one.label, one.weight, one.words) for one in scripts.weighted_scripts(checked)] == [
        ("select-only", 8, ("-b", "select-only@8")),
        ("tpcb-like", 1, ("-b", "tpcb-like")),
        ("script 1", 1, ("-f", "script-1.sql@1")),
        ("x version 2", 1, ("-f", "script-2-x-v2.sql@1")),
    ]
    assert scripts.files(checked) == {"script-1.sql": "SELECT 1;", "script-2-x-v2.sql": "SELECT 1;"}
    assert scripts.builtin_names(checked) == ["select-only", "tpcb-like"]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"scripts": "SELECT 1;"}, 'give a list of {"text": …, "weight": …}, or of {"script": …} from the library'),
        ({"scripts": ["SELECT 1;"]}, 'script 1 is not a script: give {"text": …, "weight": …}'),
        ({"scripts": [{"text": 1}]}, 'script 1 is not a script: give {"text": …, "weight": …}'),
        (
            {"scripts": [ONE | {"file": "/etc/passwd"}]},
            "script 1 has file: use text, weight, name, version",
        ),
        ({"scripts": [ONE, ONE | {"weight": 0}]}, "weight 0 of script 2 is out of range: use 1 to 1,000,000"),
        ({"scripts": [ONE | {"weight": True}]}, "weight True of script 1 is out of range: use 1 to 1,000,000"),
        ({"scripts": [ONE | {"version": "x"}]}, "version 'x' of script 1 is not a number: leave it out"),
        (
            {"scripts": [ONE | {"name": "a\nb"}]},
            "the name of script 1 is not usable: use at most 100 printable characters",
        ),
        (
            {"scripts": [ONE, {"text": "SELECT 1;\n\\settle", "name": "odd"}]},
            "script 2 (odd), line 2 ('\\settle'): \\settle is not a command that a script may use here: use \\set "
            "\\sleep \\if \\elif \\else \\endif \\startpipeline \\endpipeline \\syncpipeline \\gset \\aset, and \\; "
            "between statements",
        ),
        ({"scripts": [ONE] * 129}, "129 scripts are more than pgbench takes: use at most 128"),
    ],
)
def test_what_is_no_script_is_refused(raw, message):
    assert errors_of(**raw) == {"scripts": [message]}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "an empty list names no script: use some of select-only, simple-update, tpcb-like, or leave it out"),
        (["x"], "'x' is not a script here: use select-only, simple-update, tpcb-like, or one with @WEIGHT"),
        (
            "select-only@x",
            "'select-only@x' is not a script here: use select-only, simple-update, tpcb-like, or one with ",
        ),
        (7, "7 is not a script here: use select-only, simple-update, tpcb-like, or one with @WEIGHT"),
        ("select-only@0", "weight 0 of select-only@0 is out of range: use 1 to 1,000,000"),
    ],
)
def test_what_is_no_built_in_script_is_refused(given, message):
    assert errors_of(builtin=given)["builtin"][0].startswith(message)


def test_a_pgbench_that_does_not_know_a_command_of_a_script_is_named():
    checked = validate({"scripts": [{"text": "SELECT 1 AS x \\gset", "name": "kept", "version": 4}]})
    assert unsupported_options(checked, (12, 0)) == {}
    assert unsupported_options(checked, (11, 0)) == {
        "scripts": ["kept version 4, line 1 ('SELECT 1 AS x \\gset'): \\gset needs pgbench 12 or newer, this one is 11"]
    }


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("../../etc/passwd", "script-1-etc-passwd.sql"),
        ("all@5", "script-1-all-5.sql"),
        ("--", "script-1.sql"),
        ("Bestände am Tag " * 5, "script-1-Best-nde-am-Tag-Best-nde-am-Tag-Best-nde.sql"),
    ],
)
def test_a_file_is_named_by_the_panel(name, file):
    assert list(scripts.files(validate({"scripts": [ONE | {"name": name}]}))) == [file]


def test_they_are_told_without_their_texts_and_apart_from_others():
    named = ONE | {"name": "orders", "version": 3, "weight": 7}
    described = scripts.in_words(validate({"builtin": "select-only@2", "scripts": [named, ONE]}))
    assert described == "select-only (weight 2), orders version 3 (weight 7), script 2 [SELECT 1;… 17db4fd3] (weight 1)"
    other = validate({"builtin": "select-only@2", "scripts": [named, {"text": "SELECT 1; "}]})
    assert scripts.in_words(other) != described
