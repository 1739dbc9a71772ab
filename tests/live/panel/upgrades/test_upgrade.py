"""An upgrade's steps in their order, back at a fault in any, and after kill -9 in any."""

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.panel.upgrades.small_panel import SmallPanel, at, wheel

STEPS = {
    "install": "install 2.0 beside",
    "try": "try 2.0",
    "stop": "stop beat",
    "backup": "back up",
    "migrate": "migrate",
    "pages": "collect the pages",
    "switch": "let `current` lead",
    "start": "start the workers",
    "health": "check the health",
}
SLOW = {"try": "check", "backup": "backup", "migrate": "migrate", "pages": "collectstatic"}


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[SmallPanel]:
    made = SmallPanel(tmp_path)
    yield made
    made.close()


def test_every_step_is_told_with_its_time_and_leads_to_the_new_release(panel: SmallPanel) -> None:
    code, printed = panel.upgrade()
    assert (code, panel.state()) == (0, at("2.0")), printed
    lines = printed.splitlines()
    assert all(re.match(r"\[ *\d+\.\d s\] ", line) for line in lines)
    begun = [next(i for i, line in enumerate(lines) if text in line) for text in STEPS.values()]
    assert begun == sorted(begun)
    verbs = (panel.home / "verbs").read_text().split("\n")
    units = ["beat", "tasks", "runs", "web"]
    assert verbs[:4] == [f"stop pooldeck-{unit}" for unit in units]
    assert verbs[4:8] == [f"start pooldeck-{unit}" for unit in ("tasks", "runs", "beat", "web")]
    (backup,) = panel.backups.iterdir()
    assert re.fullmatch(r"before-2\.0-\d{8}T\d{6}Z", backup.name)
    assert (backup / "metadata.sqlite3").read_text() == "1.0"
    assert (panel.prefix / "releases" / "1.0").is_dir()
    assert (panel.prefix / "current" / ".complete").exists()


@pytest.mark.parametrize(
    "verb", ["migrate", *(pytest.param(one, marks=pytest.mark.slow) for one in ("check", "backup", "collectstatic"))]
)
def test_a_step_that_fails_is_named_and_undone(panel: SmallPanel, verb: str) -> None:
    (panel.home / "broken").write_text(f"{verb} 2.0")
    code, printed = panel.upgrade()
    step = next((step for step, slow in SLOW.items() if slow == verb), verb)
    assert f"step '{step}' failed" in printed
    assert f"{verb} of 2.0 is broken on purpose" in printed
    assert (code, panel.state()) == (1, at("1.0")), printed
    assert not (panel.prefix / "releases" / "2.0").exists()
    (panel.home / "broken").write_text("")
    assert panel.upgrade()[0] == 0
    assert panel.state() == at("2.0")


def test_a_release_that_is_not_well_gives_way_to_the_old_one(panel: SmallPanel) -> None:
    (panel.home / "unwell").write_text("releases/2.0")
    code, printed = panel.upgrade()
    assert "step 'health' failed: " in printed
    assert (code, panel.state()) == (1, at("1.0")), printed


def test_going_back_that_fails_is_finished_by_undo(panel: SmallPanel) -> None:
    (panel.home / "broken").write_text("migrate 2.0")
    panel.answer("2.0")
    program = panel.home / "slow"
    program.unlink()  # every command fails
    code, printed = panel.upgrade()
    assert (code, "step 'try' failed" in printed) == (1, True)
    program.write_text("")
    (panel.home / "unwell").write_text("releases/1.0")
    code, printed = panel.upgrade()
    assert code == 3, printed
    assert "going back failed too" in printed
    (panel.home / "unwell").unlink()
    code, printed = panel.upgrade("--undo")
    assert (code, panel.state()) == (0, at("1.0")), printed


def kill_in(panel: SmallPanel, step: str) -> None:
    if step in SLOW:
        (panel.home / "slow").write_text(f"{SLOW[step]} 2.0")
    if step == "health":
        (panel.home / "unwell").write_text("releases/2.0")
    process = panel.start_upgrade(str(panel.wheel))
    assert process.stdout
    printed = ""
    for line in process.stdout:
        printed += line
        if STEPS[step] in line:
            break
    else:
        raise AssertionError(printed)
    if step in SLOW:
        wait_for_call(panel, f"{SLOW[step]} 2.0")
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    (panel.home / "slow").write_text("")
    (panel.home / "unwell").unlink(missing_ok=True)


def wait_for_call(panel: SmallPanel, call: str) -> None:
    deadline = time.monotonic() + 30
    calls = panel.home / "calls"
    while not calls.exists() or call not in calls.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_one_that_was_killed_is_undone(panel: SmallPanel, step: str) -> None:
    kill_in(panel, step)
    assert panel.state()["unfinished"]
    code, printed = panel.upgrade("--undo")
    ended = {step, "start"} if step == "switch" else {step}  # which is over before the signal comes
    assert any(f"was ended in step '{one}'" in printed for one in ended)
    assert (code, panel.state()) == (0, at("1.0")), printed


@pytest.mark.parametrize(
    "step", [pytest.param(step, marks=[] if step == "migrate" else pytest.mark.slow) for step in STEPS]
)
def test_one_that_was_killed_is_completed_by_the_next(panel: SmallPanel, step: str) -> None:
    kill_in(panel, step)
    code, printed = panel.upgrade()
    assert (code, panel.state()) == (0, at("2.0")), printed


def test_what_is_refused_changes_nothing(panel: SmallPanel, tmp_path: Path) -> None:
    older, same = wheel(tmp_path, "0.9"), wheel(tmp_path, "1.0")
    other = tmp_path / "django-5.2-py3-none-any.whl"
    other.touch()
    refusals = {
        str(older): "0.9 is older than the current release 1.0: its code does not know",
        str(same): "1.0 is the current release already",
        str(other): "is a wheel of django, not of pooldeck",
        str(tmp_path / "pooldeck-3.0-py3-none-any.whl"): "there is no file",
        "latest": "is neither a version nor a wheel",
    }
    for word, reason in refusals.items():
        code, printed = panel.upgrade(word)
        assert (code, reason in printed) == (2, True), printed
    panel.answer("1.0", "redis", "worker")
    code, printed = panel.upgrade()
    assert (code, "redis: wrong\n    mend it" in printed, "worker" in printed) == (2, True, False), printed
    panel.answer("1.0")
    panel.answer("2.0", "schema")
    code, printed = panel.upgrade()
    assert (code, "step 'try' failed: schema: wrong; mend it" in printed) == (1, True), printed
    assert panel.state() == at("1.0")
    assert not (panel.home / "verbs").exists()  # no service was stopped


def releases(panel: SmallPanel) -> list[str]:
    return sorted(path.name for path in (panel.prefix / "releases").iterdir())


@pytest.mark.slow
def test_old_releases_are_removed_but_the_two_before(panel: SmallPanel) -> None:
    for name in ("0.8", "0.9", "0.10", "of-mine"):
        (panel.prefix / "releases" / name).mkdir()
        (panel.prefix / "releases" / name / ".complete").touch()
    (panel.prefix / "releases" / "0.7").mkdir()  # not installed by script/install or an upgrade
    (panel.prefix / "releases" / "1.0" / ".complete").touch()
    code, printed = panel.upgrade("--keep", "0", str(panel.wheel))
    assert (code, "'0' must be a number from 1: what an upgrade may go back to stays" in printed) == (2, True), printed
    (panel.home / "broken").write_text("migrate 2.0")
    assert panel.upgrade()[0] == 1
    assert releases(panel) == ["0.10", "0.7", "0.8", "0.9", "1.0", "of-mine"]  # it went back, and removes nothing else
    (panel.home / "broken").write_text("")
    code, printed = panel.upgrade()
    assert (code, releases(panel)) == (0, ["0.10", "0.7", "1.0", "2.0", "of-mine"]), printed
    assert f"0.9 is removed from {panel.prefix}/releases: --keep 2" in printed


def test_two_at_once_are_refused(panel: SmallPanel) -> None:
    (panel.home / "slow").write_text("check 2.0")
    first = panel.start_upgrade(str(panel.wheel))
    wait_for_call(panel, "check 2.0")
    try:
        code, printed = panel.upgrade()
        assert (code, "another upgrade of this installation runs" in printed) == (2, True)
    finally:
        first.kill()
        first.communicate()
