"""Starting and ending real programs: drained always, ended whole, gone with their parent, their secrets removed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue

import pytest

from benchmarks.processes import process
from benchmarks.processes.process import Line, LoadProcess, StreamEnd, drain
from benchmarks.processes.workdir import left_homes, private_home, remove_home

OWNER = "0123456789abcdef0123456789abcdef-1"


Started = Callable[..., LoadProcess]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """Starts a shell's script, or another command; all are ended with the test."""
    loads: list[LoadProcess] = []

    def start(*words: str, size: int = 1000) -> LoadProcess:
        argv = words if len(words) > 1 or words[0].startswith("/") else ("/bin/sh", "-c", *words)
        loads.append(LoadProcess(argv, {"PATH": os.environ["PATH"]}, tmp_path, Queue(size)))
        return loads[-1]

    yield start
    for load in loads:
        load.stop()


def parsed(load: LoadProcess) -> list[tuple[str, str]]:
    """(stream, text) of every line up to the end of both streams."""
    open_streams, lines = {"stdout", "stderr"}, []
    while open_streams:
        event = load.events.get(timeout=30)
        if isinstance(event, StreamEnd):
            open_streams.remove(event.stream)
        elif isinstance(event, Line):
            lines.append((event.stream, event.text))
    return lines


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pid: int, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while is_alive(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.01)


def test_lines_of_both_streams_arrive_with_their_time(started):
    load = started("echo one; echo two >&2; printf three")
    assert sorted(parsed(load)) == [("stderr", "two"), ("stdout", "one"), ("stdout", "three")]
    assert load.stop() == 0


def test_a_line_is_told_as_it_comes(started):
    load = started("echo now; sleep 60")
    line = load.events.get(timeout=20)
    assert (line.text, time.monotonic() - line.at < 20) == ("now", True)
    assert load.stop() == -signal.SIGTERM


def test_bytes_that_are_no_text_and_endless_lines_do_no_harm(started):
    load = started(r"printf '\377\000x\n'; head -c 100000 /dev/zero | tr '\0' y; echo; echo end")
    texts = [text for _, text in parsed(load)]
    assert texts == ["\ufffd\ufffdx", "y" * 8192, "end"]


def test_a_flood_is_drained_while_nobody_listens(started):
    load = started("seq 100000; seq 100000 >&2", size=100)
    deadline = time.monotonic() + 60
    while load.exit_code() is None:
        assert time.monotonic() < deadline, "the program waits for its reader"
        time.sleep(0.05)
    assert load.exit_code() == 0
    assert load.events.qsize() <= 100
    list(drain(load.events))
    load.join()
    assert load.dropped_lines > 190_000


def test_it_reads_nothing_and_leads_a_session_of_its_own(started):
    load = started("cat; ps -o pid= -o sid= -o pgid= $$")
    (_, numbers) = parsed(load)[0]
    assert set(numbers.split()) == {str(load.pid)}
    assert load.pid != os.getsid(0)


def test_a_program_that_ignores_term_is_killed_with_its_children(started):
    load = started("trap '' TERM; sleep 60 & echo $!; while :; do sleep 0.1; done")
    child = int(load.events.get(timeout=30).text)
    began = time.monotonic()
    assert load.stop(term_seconds=0.3) == -signal.SIGKILL
    assert time.monotonic() - began < 20
    wait_until_gone(child)
    assert load.stop() == -signal.SIGKILL


def test_a_stopped_program_can_be_ended(started):
    load = started("sleep 60")
    load.signal_group(signal.SIGSTOP)
    began = time.monotonic()
    assert load.stop() == -signal.SIGTERM
    assert time.monotonic() - began < 20


def test_a_program_that_is_not_there_says_so(started):
    load = started("/nowhere/pgbench")
    assert "No such file" in parsed(load)[0][1]
    assert load.stop() == 127


def test_it_dies_with_the_process_that_started_it():
    script = (
        "import django, os, queue, pathlib, time; django.setup();"
        "from benchmarks.processes.process import LoadProcess; home = pathlib.Path('/');"
        "load = LoadProcess(['/bin/sleep', '60'], {'PATH': os.environ['PATH']}, home, queue.Queue());"
        "print(load.pid, flush=True); time.sleep(60)"
    )
    root = Path(process.__file__).parents[2]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=root, env=environment
    )
    pid = int(parent.stdout.readline())
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}/comm").read_text() != "sleep\n":  # setpriv has become the program
        assert time.monotonic() < deadline
        time.sleep(0.01)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until_gone(pid)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has an account to drop")
def test_root_gives_the_load_an_account_without_rights(started):
    load = started("id -u; id -g; grep NoNewPrivs /proc/self/status; cat /etc/shadow")
    lines = parsed(load)
    assert [text for stream, text in lines if stream == "stdout"] == ["65533", "65533", "NoNewPrivs:\t1"]
    assert "Permission denied" in lines[-1][1] or any("Permission denied" in text for _, text in lines)


def test_a_private_home_is_private_readable_by_the_load_and_gone_afterwards(started):
    with private_home(OWNER, "s:e\\cret", "PEM") as home:
        modes = {path.name: path.stat().st_mode & 0o777 for path in (home, *home.iterdir())}
        assert modes == {home.name: 0o700, "pgpass": 0o600, "root.crt": 0o600}
        assert left_homes()[OWNER] == home
        assert parsed(started(f"cat {home}/pgpass {home}/root.crt")) == [
            ("stdout", r"*:*:*:*:s\:e\\cret"),
            ("stdout", "PEM"),
        ]
    assert (home.exists(), OWNER in left_homes()) == (False, False)


def test_a_home_that_was_left_can_be_removed():
    with private_home(OWNER, "secret") as home:
        remove_home(left_homes()[OWNER])
        assert not home.exists()
