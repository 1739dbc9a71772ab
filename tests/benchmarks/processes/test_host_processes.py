"""Processor times of a host as a script there answers them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.processes import host_processes
from benchmarks.processes.host_helper import HostHelper
from benchmarks.processes.host_processes import HostProcesses, HostTimesThere, ProcessTimes
from benchmarks.runs.observers import procfs
from benchmarks.runs.observers.generator_host import host_times, processor_times

SCRIPT = Path(host_processes.__file__).parent / "scripts" / "processes.sh"
Ask = Callable[..., HostProcesses]


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    """Starts it as on a host."""
    home = tmp_path / "home"
    home.mkdir()
    started: list[HostProcesses] = []

    def start(script: str = "", names: str = "postgres|some-server") -> HostProcesses:
        words = ["/bin/sh", "-c", script or SCRIPT.read_text(), "processes.sh", names]
        pipe = subprocess.PIPE
        child = subprocess.Popen(
            words, cwd=home, env={"PATH": os.environ["PATH"]}, stdin=pipe, stdout=pipe, stderr=pipe
        )
        started.append(HostProcesses(HostHelper(child)))
        return started[-1]

    yield start
    for one in started:
        one.close()


def test_the_load_is_found_by_its_group_and_servers_by_name(ask: Ask, tmp_path: Path) -> None:
    words = [sys.executable, "-c", "while True: pass"]
    server = tmp_path / "some-server"
    server.symlink_to("/usr/bin/sleep")
    with subprocess.Popen(words, start_new_session=True) as load, subprocess.Popen([server, "60"]) as other:
        (tmp_path / "1.group").write_text(f"{load.pid}\n")
        host = ask()
        times = host.list_all()
        assert times is not None
        found = {one.pid: one for one in times.processes}
        assert (found[load.pid].group, found[other.pid].name) == (load.pid, "some-server")
        deadline = time.monotonic() + 20
        while (later := host.of([load.pid])) and later.processes[0].seconds < 0.2:
            assert time.monotonic() < deadline
        assert later is not None
        assert [one.pid for one in later.processes] == [load.pid]
        load.kill()
        other.kill()
    ended = host.of([load.pid])
    assert ended is not None
    assert ended.processes == ()


def test_the_hosts_times_are_those_that_this_machine_reads(ask: Ask) -> None:
    host = ask()
    times, here = host.of([]), procfs.host_times()
    assert times is not None
    found = host_times(times)
    assert found.total == pytest.approx(here.total, abs=2.0)
    assert found.worked == pytest.approx(here.worked, abs=2.0)
    assert (host.cores, host.sees_all) == (os.cpu_count(), True)


def test_a_name_may_hold_blanks_and_parentheses(ask: Ask) -> None:
    stat = "7 (a (b) c) S 1 5 5 0 -1 0 0 0 0 0 200 100 50 0 20 0 3 0 4200 0 0"
    host = ask(
        f"echo processes 100 4 own; while read -r _; do echo 'cpu  1 2 3 4 5 6 7 8 0 0'; echo '{stat}'; echo done; done"
    )
    times = host.list_all()
    assert times == HostTimesThere(
        0.01, 0.02, 0.03, 0.04, 0.05, 0.13, 0.08, (ProcessTimes(7, "a (b) c", 1, 5, 3.0, 0.5, 3, 42.0),)
    )
    assert (host.cores, host.sees_all) == (4, False)
    ours = processor_times(times).ours
    assert [own.seconds for own in ours.values()] == [3.5]


def test_a_host_that_is_lost_has_no_times(ask: Ask) -> None:
    host = ask("echo processes 100 4 all; read -r _; echo cpu")
    assert host.list_all() is None
    assert host.of([1]) is None


def test_a_host_that_sends_without_an_end_is_given_up(ask: Ask) -> None:
    assert ask("echo processes 100 4 all; while echo 1 2 3; do :; done").list_all() is None
