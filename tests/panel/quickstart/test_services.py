"""The file of restart commands is the demo's own, unless the user names another."""

import os
import tomllib
from pathlib import Path

import pytest

from panel.quickstart import services
from panel.quickstart.home import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(services.os, "environ", {})
    made = Home(tmp_path / 'the "home" \\ of Zoë')
    made.open()
    return made


def test_the_command_of_the_demo_is_written_privately_for_the_programs(home: Home) -> None:
    services.allow_restart(home)
    path = home.path / "restart.toml"
    assert os.environ["POOLDECK_RESTART_FILE"] == str(path)
    assert path.stat().st_mode & 0o777 == 0o600
    (words,) = tomllib.loads(path.read_text())["restart"].values()
    assert list(tomllib.loads(path.read_text())["restart"]) == ["demo"]
    assert words[-3:] == ["-m", "panel.quickstart.restart_postgres", str(home.path)]


def test_a_file_of_the_users_own_is_left_alone(home: Home) -> None:
    os.environ["POOLDECK_RESTART_FILE"] = "/etc/pooldeck/restart.toml"
    services.allow_restart(home)
    assert os.environ["POOLDECK_RESTART_FILE"] == "/etc/pooldeck/restart.toml"
    assert not (home.path / "restart.toml").exists()
