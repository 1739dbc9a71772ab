"""The quickstart collects page files once for each version of their sources."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from panel.quickstart import page_files
from panel.quickstart.home import Home
from panel.quickstart.programs import ProgramFailed
from panel.quickstart.progress import Steps

SAID = "collecting static files"
# What collectstatic leaves, without its six seconds; tests/panel/test_staticfiles.py and test_up.py run the real one.
COLLECT = """
import os, pathlib
root = pathlib.Path(os.environ["POOLDECK_HOME"]) / "static"
(root / "css").mkdir(parents=True)
(root / "css" / "pooldeck.0.css").touch()
(root / "staticfiles.json").touch()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.setenv("POOLDECK_HOME", str(tmp_path))
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "panel.settings")
    with Home(tmp_path).opened() as held:
        yield held


def test_they_are_collected_once_and_again_when_they_are_gone(
    home: Home, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_files, "COMMAND", [sys.executable, "-c", COLLECT])
    page_files.collect(home, Steps())
    assert SAID in capfd.readouterr().out
    page_files.collect(home, Steps())
    assert SAID not in capfd.readouterr().out
    shutil.rmtree(home.path / "static")
    page_files.collect(home, Steps())
    assert list((home.path / "static" / "css").glob("pooldeck.*.css"))


def test_a_changed_source_changes_the_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("static/css", "panel"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("panel/staticfiles.py", "static/package-lock.json", "static/css/own.css"):
        (tmp_path / name).write_text("one")
    monkeypatch.setattr(page_files, "BASE_DIR", tmp_path)
    monkeypatch.setattr(page_files, "SHARE_DIR", tmp_path)
    before = page_files.stamp()
    assert page_files.stamp() == before
    (tmp_path / "static" / "css" / "own.css").write_text("two")
    assert page_files.stamp() != before


def test_a_failure_is_told_with_what_the_program_said(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOLDECK_DEBUG", "perhaps")
    with pytest.raises(ProgramFailed, match="POOLDECK_DEBUG='perhaps'"):
        page_files.collect(home, Steps())
