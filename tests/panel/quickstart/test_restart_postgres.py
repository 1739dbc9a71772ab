"""Without a running PostgreSQL of this home, the restart command fails and names the remedy."""

import sys
from pathlib import Path

import pytest

from panel.quickstart import restart_postgres
from panel.quickstart.home import Home


def error_of(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(sys, "argv", ["restart_postgres", str(path)])
    assert restart_postgres.main() == 1
    return capsys.readouterr().err


def test_a_home_that_was_never_started_has_nothing_to_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert error_of(tmp_path, monkeypatch, capsys) == f"{tmp_path} has no PostgreSQL: start script/up\n"
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_does_not_run_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(tmp_path)
    home.open()
    home.port("postgres"), home.password("postgres")
    expected = f"no PostgreSQL runs in {tmp_path}/postgres/cluster: start script/up\n"
    assert error_of(tmp_path, monkeypatch, capsys) == expected
    assert not home.restart_request("postgres").exists()
