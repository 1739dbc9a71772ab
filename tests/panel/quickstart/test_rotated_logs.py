"""Logs rotate by size while their programs run, and no line is lost."""

import os
import sys
from pathlib import Path

import pytest

from panel.quickstart import rotated_logs
from panel.quickstart.home import Home
from panel.quickstart.programs import Program
from panel.quickstart.rotated_logs import RotatedLog
from panel.quickstart.supervise import Supervisor

pytestmark = pytest.mark.usefixtures("restored_signals")
COUNT = 20_000
COUNTS = f"import os\nfor number in range({COUNT}): os.write(1, b'line %d\\n' % number)\nos.write(1, b'the end')"


class Counter(Program):
    """A program that prints numbered lines as fast as it can."""

    name = "counter"

    @property
    def argv(self) -> list[str]:
        return [sys.executable, "-c", COUNTS]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.open()
    return made


def printed(log: RotatedLog, *chunks: bytes) -> None:
    """Print to the log as a program that writes these chunks and ends."""
    with os.fdopen(log.open_pipe(), "wb", buffering=0) as pipe:
        for chunk in chunks:
            pipe.write(chunk)
    log.wait_for_last_lines()


def files_of(path: Path) -> list[Path]:
    """The log and its old files, the oldest first."""
    return sorted(path.parent.glob(f"{path.name}*"), key=lambda file: file.name, reverse=True)


def test_no_line_is_lost_or_cut_while_a_program_prints(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOLDECK_LOG_MAX_BYTES", "65536")
    monkeypatch.setenv("POOLDECK_LOG_BACKUP_COUNT", "9")
    with Supervisor(home) as supervisor:
        program = supervisor.start(Counter(home.path))
        supervisor.programs.clear()  # it ends by itself
        assert program.process is not None
        program.process.wait(30)
        assert program.log.endswith("the end")
    texts = [file.read_text() for file in files_of(program.log_path)]
    assert len(texts) > 2
    assert max(map(len, texts)) <= 65536
    assert all(text.endswith("\n") for text in texts[:-1])
    assert "".join(texts).splitlines() == [*(f"line {number}" for number in range(COUNT)), "the end"]


def test_only_so_many_old_files_are_kept(tmp_path: Path) -> None:
    log = RotatedLog(tmp_path / "web.log", 8, 2)
    for number in range(6):
        printed(log, b"line %d\n" % number)
    texts = {file.name: file.read_text() for file in files_of(log.path)}
    assert texts == {"web.log.2": "line 3\n", "web.log.1": "line 4\n", "web.log": "line 5\n"}


def test_a_log_that_is_deleted_is_made_anew(tmp_path: Path) -> None:
    log = RotatedLog(tmp_path / "web.log", 4096, 1)
    printed(log, b"first\n")
    log.path.unlink()
    printed(log, b"second\n")
    assert log.path.read_text() == "second\n"


def test_a_program_prints_on_where_its_log_cannot_be_written(tmp_path: Path) -> None:
    log = RotatedLog(tmp_path / "nowhere" / "web.log", 4096, 1)
    printed(log, *[b"x" * 65536 + b"\n"] * 32)  # more than a pipe holds: this would never return
    assert not log.path.exists()


def test_a_line_of_any_length_is_written(tmp_path: Path) -> None:
    log = RotatedLog(tmp_path / "web.log", 4096, 1)
    printed(log, b"x" * (rotated_logs.LONGEST_LINE_BYTES * 2))
    assert sum(len(file.read_text()) for file in files_of(log.path)) == rotated_logs.LONGEST_LINE_BYTES * 2
