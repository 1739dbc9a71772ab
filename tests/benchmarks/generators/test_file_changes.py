"""A plan that comes, goes or is written again is noticed at the next look."""

import os
from pathlib import Path

from pytest_django import Settings

from benchmarks.generators.file_changes import Watch


def test_plans_and_scripts_that_change_are_noticed_once(settings: Settings, tmp_path: Path) -> None:
    settings.JMETER_PLANS, settings.SYSBENCH_SCRIPTS = str(tmp_path), ""
    watch, plan = Watch(), tmp_path / "a.jmx"
    assert [watch.found_change(), watch.found_change()] == [False, False]
    plan.touch()
    assert [watch.found_change(), watch.found_change()] == [True, False]
    os.utime(plan, ns=(1, 1))
    assert [watch.found_change(), watch.found_change()] == [True, False]
    (tmp_path / "notes.txt").touch()
    assert not watch.found_change()
    plan.unlink()
    assert watch.found_change()
    settings.SYSBENCH_SCRIPTS = str(tmp_path)
    (tmp_path / "tpcc.lua").touch()
    assert watch.found_change()


def test_a_folder_that_is_not_there_holds_nothing(settings: Settings) -> None:
    settings.JMETER_PLANS = settings.SYSBENCH_SCRIPTS = "/nowhere"
    watch = Watch()
    assert [watch.found_change(), watch.found_change()] == [False, False]
