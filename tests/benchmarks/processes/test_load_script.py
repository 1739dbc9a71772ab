"""The script that runs a load on a host: which process groups its keeper may signal afterwards."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from benchmarks.processes import host_machine

SCRIPTS = Path(host_machine.__file__).parent / "scripts"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


def code_of(home: Path, program: str) -> int:
    words = ["/bin/sh", "-c", (SCRIPTS / "load.sh").read_text(), "load.sh", "sh", "-c", program]
    done = subprocess.run(words, cwd=home, start_new_session=True, capture_output=True, check=False)
    assert done.stderr == b""
    return done.returncode


def test_a_group_that_ended_is_not_signaled_again(home: Path) -> None:
    assert code_of(home, "ls ../*.group > seen; exit 3") == 3
    assert (home / "seen").read_text().endswith(".group\n")
    assert list(home.parent.glob("*.group")) == []


def test_a_group_that_goes_on_after_its_program_is_ended_later(home: Path) -> None:
    assert code_of(home, "sleep 60 > /dev/null 2>&1 & exit 0") == 0
    (group,) = home.parent.glob("*.group")
    os.killpg(int(group.read_text()), 9)


def test_a_group_that_was_killed_is_not_signaled_again() -> None:
    words, pipe = (
        ["/bin/sh", "-c", (SCRIPTS / "keep_home.sh").read_text(), "keep_home.sh", "test", "20"],
        subprocess.PIPE,
    )
    with (
        subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as keeper,
        subprocess.Popen(["sleep", "60"], start_new_session=True) as load,
    ):
        assert keeper.stdin
        assert keeper.stdout
        top = Path(keeper.stdout.readline().removeprefix("home ").strip()).parent
        (top / "1.group").write_text(f"{load.pid}\n")
        keeper.stdin.write("K")
        keeper.stdin.flush()
        assert load.wait(10) == -9
        deadline = time.monotonic() + 10
        while (top / "1.group").exists():
            assert time.monotonic() < deadline
        keeper.stdin.close()
        assert keeper.wait(10) == 0
    assert not top.exists()
