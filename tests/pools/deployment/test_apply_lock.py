"""Which holders of an apply lock are called dead, asked of real processes and folders."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pools.deployment import apply_lock


def test_a_process_that_lives_is_not_dead() -> None:
    assert not apply_lock.is_dead(apply_lock.holder_id())


@pytest.mark.parametrize("reaped", [False, True])
def test_a_killed_process_is_dead_at_once_also_before_its_parent_looks(reaped: bool) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        where, started = _here(), apply_lock._stat(child.pid)[apply_lock.STARTED]
        holder = f"{where}/{child.pid}/{started}"
        assert not apply_lock.is_dead(holder)
        child.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        if reaped:
            child.wait()
        assert apply_lock.is_dead(holder)


def test_a_number_that_another_process_has_now_is_dead() -> None:
    where, number, started = apply_lock.holder_id().split("/")
    assert apply_lock.is_dead(f"{where}/{number}/{int(started) - 1}")


@pytest.mark.parametrize("holder", ["", "another-boot:1/4194305/7", "nonsense", "another-boot:1@5:6/4194305/7"])
def test_what_cannot_be_known_is_not_dead(holder: str) -> None:
    assert not apply_lock.is_dead(holder, "5:6")


def test_the_lock_on_a_folder_proves_the_death_of_a_holder_of_the_same_folder_alone(tmp_path: Path) -> None:
    with apply_lock.lock_folder(str(tmp_path)) as folder:
        found = tmp_path.stat()
        assert folder == f"{found.st_dev}:{found.st_ino}"
        boot = apply_lock._boot()
        elsewhere = f"{boot}:1@{folder}/1/7"  # the first process of another PID namespace, which nobody sees from here
        assert apply_lock.is_dead(elsewhere, folder)
        assert not apply_lock.is_dead(elsewhere, "")
        assert not apply_lock.is_dead(elsewhere, f"{found.st_dev}:{found.st_ino + 1}")
        assert not apply_lock.is_dead(f"{boot}:1/1/7", folder)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_locked_by_one_at_a_time_and_one_that_is_missing_or_a_link_by_nobody(tmp_path: Path) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    with apply_lock.lock_folder(str(folder)) as first, apply_lock.lock_folder(str(folder)) as second:
        assert (bool(first), second) == (True, "")
    with apply_lock.lock_folder(str(folder)) as again:
        assert again == first
    for unlocked in (str(link), str(tmp_path / "missing"), ""):
        with apply_lock.lock_folder(unlocked) as none:
            assert none == ""


def _here() -> str:
    return f"{apply_lock._boot()}:{apply_lock._namespace()}"
