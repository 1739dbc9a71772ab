"""Root's servers run as an ordinary account, wherever the checkout and the state lie."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from panel.quickstart import account

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root has anything to drop"),
]


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A program and a file of everybody's in a folder that is root's alone."""
    tmp_path.chmod(0o700)
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\ncat "$1"; id -u\n')
    program.chmod(0o755)
    (tmp_path / "file").write_text("read\n")
    return tmp_path


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    argv = account.as_unprivileged(words, signal.SIGKILL, folder)
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_a_program_and_a_file_below_a_closed_folder_can_be_reached(closed: Path) -> None:
    done = run([str(closed / "program"), str(closed / "file")], closed)
    unprivileged = account.unprivileged()
    assert unprivileged is not None
    assert done.stdout == f"read\n{unprivileged.uid}\n"


def test_access_2_agrees_so_that_initdb_finds_its_server_there(closed: Path) -> None:
    snapshots = f"import os; print(os.access({str(closed / 'program')!r}, os.X_OK))"
    assert run(["/usr/bin/python3", "-c", snapshots], closed).stdout == "True\n"


def test_nothing_can_be_written_below_a_closed_folder(closed: Path) -> None:
    done = run(["sh", "-c", f"echo no > {closed}/file"], closed)
    assert done.returncode != 0
    assert (closed / "file").read_text() == "read\n"


def test_no_capability_is_kept_where_the_way_is_open() -> None:
    capabilities = run(["grep", "^Cap[PEA]", "/proc/self/status"], Path("/")).stdout.split()
    assert capabilities[1::2] == ["0" * 16] * 3
