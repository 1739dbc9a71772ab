"""Which processes are called dead, asked of real ones."""

import os
import signal
import subprocess
import sys

import pytest

from pools.deployment import attempt


def test_a_process_that_lives_is_not_dead() -> None:
    assert not attempt.is_owner_dead(attempt.this_lock_owner())


@pytest.mark.parametrize("reaped", [False, True])
def test_a_killed_process_is_dead_at_once_also_before_its_parent_looks(reaped: bool) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        where, started = attempt._where(), attempt._stat(child.pid)[attempt.STARTED]
        holder = f"{where}/{child.pid}/{started}"
        assert not attempt.is_owner_dead(holder)
        child.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        if reaped:
            child.wait()
        assert attempt.is_owner_dead(holder)


def test_a_number_that_another_process_has_now_is_dead() -> None:
    where, number, started = attempt.this_lock_owner().split("/")
    assert attempt.is_owner_dead(f"{where}/{number}/{int(started) - 1}")


@pytest.mark.parametrize("holder", ["", "another-boot:1/4194305/7", "nonsense"])
def test_what_cannot_be_known_is_not_dead(holder: str) -> None:
    assert not attempt.is_owner_dead(holder)
