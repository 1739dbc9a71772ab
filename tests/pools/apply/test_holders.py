"""Which processes are called dead, asked of real ones."""

import os
import signal
import subprocess
import sys

import pytest

from pools.apply import holders


def test_a_process_that_lives_is_not_dead() -> None:
    assert not holders.is_dead(holders.this_process())


@pytest.mark.parametrize("reaped", [False, True])
def test_a_killed_process_is_dead_at_once_also_before_its_parent_looks(reaped: bool) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        where, started = holders._where(), holders._stat(child.pid)[holders.STARTED]
        holder = f"{where}/{child.pid}/{started}"
        assert not holders.is_dead(holder)
        child.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        if reaped:
            child.wait()
        assert holders.is_dead(holder)


def test_a_number_that_another_process_has_now_is_dead() -> None:
    where, number, started = holders.this_process().split("/")
    assert holders.is_dead(f"{where}/{number}/{int(started) - 1}")


@pytest.mark.parametrize("holder", ["", "another-boot:1/4194305/7", "nonsense"])
def test_what_cannot_be_known_is_not_dead(holder: str) -> None:
    assert not holders.is_dead(holder)
