"""Which files of their hosts generators have for runs, and which of them can be chosen."""

from pathlib import Path

import pytest
from pytest_django import Settings

from benchmarks.generators import host_files, registration
from benchmarks.generators.host_files import FileChoice, RequiredFile
from benchmarks.generators.registry import GeneratorStatus

ENGINES = {"jmeter": "5.6", "sysbench": "1.0"}


@pytest.fixture(autouse=True)
def nothing_here(settings: Settings) -> None:
    settings.JMETER_PLANS = settings.SYSBENCH_SCRIPTS = ""


def known(files: dict[str, dict[str, str]] | None) -> GeneratorStatus:
    return GeneratorStatus("east", None, True, engines=ENGINES, files=files)  # type: ignore[arg-type]  # when is of no matter


def test_a_generator_writes_down_its_files_with_its_engines(
    db: None, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.GENERATOR, settings.JMETER_PLANS, settings.SYSBENCH_SCRIPTS = "east", str(tmp_path), str(tmp_path)
    (tmp_path / "empty.jmx").touch()
    (tmp_path / "tpcc.lua").touch()
    found = registration.describe().files
    assert found["sysbench"] == {"tpcc.lua": ""}
    assert list(found["jmeter"]) == ["empty.jmx"]
    assert found["jmeter"]["empty.jmx"].startswith("the plan is not XML")


def test_only_plans_and_tpcc_are_files_of_the_host() -> None:
    assert host_files.needed("jmeter", {"plan": "a.jmx"}) == RequiredFile("jmeter", "plan", "a.jmx")
    assert host_files.needed("sysbench", {"script": "tpcc"}) == RequiredFile("sysbench", "script", "tpcc.lua")
    assert host_files.needed("sysbench", {"script": "oltp_read_only"}) is None
    assert host_files.needed("pgbench", {"builtin": "select-only"}) is None
    assert host_files.needed("gone", {}) is None


@pytest.mark.parametrize(
    ("files", "reported"),
    [
        (None, ""),
        ({}, ""),
        ({"jmeter": {"a.jmx": ""}}, ""),
        ({"jmeter": {"a.jmx": "a listener"}}, "a.jmx of generator 'east' can't be used: a listener"),
        (
            {"jmeter": {"b.jmx": "", "c.jmx": "a listener", "d.jmx": ""}},
            "generator 'east' has no a.jmx: use b.jmx, d.jmx, or put it there into the folder POOLDECK_JMETER_PLANS",
        ),
        (
            {"jmeter": {}},
            "generator 'east' has no a.jmx: put it there into the folder POOLDECK_JMETER_PLANS",
        ),
    ],
)
def test_what_is_wrong_names_file_generator_and_remedy(files: dict[str, dict[str, str]] | None, reported: str) -> None:
    assert host_files.wrong_with(known(files), RequiredFile("jmeter", "plan", "a.jmx")) == reported


def test_any_is_offered_what_one_of_them_has_and_several_what_all_have(seen) -> None:
    seen("east", engines=ENGINES, files={"jmeter": {"a.jmx": "", "b.jmx": "a listener"}})
    seen("west", engines=ENGINES, files={"jmeter": {"b.jmx": "", "c.jmx": "a listener"}})
    seen("bare", engines={"sysbench": "1.0"}, files={"jmeter": {"d.jmx": ""}})
    seen("gone", ago_s=60, engines=ENGINES, files={"jmeter": {"e.jmx": ""}})
    assert host_files.offered("jmeter", []) == [
        FileChoice("a.jmx", ("east",)),
        FileChoice("b.jmx", ("east", "west")),
        FileChoice("c.jmx", ("west",), "a listener"),
    ]
    assert [one.name for one in host_files.offered("jmeter", ["west"])] == ["b.jmx", "c.jmx"]
    assert [one.name for one in host_files.offered("jmeter", ["east", "west"])] == ["b.jmx"]


def test_where_nobody_has_told_this_host_does(seen, settings: Settings, tmp_path: Path) -> None:
    seen("new")
    seen("old", engines=ENGINES)  # An older release reports no files.
    settings.JMETER_PLANS = str(tmp_path)
    (tmp_path / "here.jmx").touch()
    assert [(one.name, one.generators) for one in host_files.offered("jmeter", [])] == [("here.jmx", ())]
