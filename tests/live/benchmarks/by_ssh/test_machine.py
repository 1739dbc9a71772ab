"""Loads on a host by SSH: their home is private and removed, and they end there, whatever ends here."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

import pytest

from benchmarks.processes.command import PASSFILE, Command
from benchmarks.processes.host_machine import HomeThere, HostMachine
from benchmarks.processes.process import Line, drain
from pools.hosts import ssh
from pools.hosts.ssh_client import Hop
from pools.models import Host
from tests.live.pools.hosts.conftest import registered
from tests.live.sshds import CuttingProxy, SshServer

OWNER = "0123456789abcdef0123456789abcdef-1"
ENVIRONMENT = {"PATH": os.environ["PATH"]}
pytestmark = pytest.mark.django_db(transaction=True)


def until(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def sleepers(mark: str) -> list[int]:
    """Processes whose command line holds the mark, but shells that only wait for them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"sleep") and mark.encode() in words:
            found.append(int(path.parts[2]))
    return found


def sleeping(seconds: str) -> Command:
    return Command(["/bin/sh", "-c", f"echo began >&2; echo out; sleep {seconds}; echo never"], ENVIRONMENT)


@contextmanager
def home_on(host: Host) -> Iterator[HomeThere]:
    with ssh.connected(host) as connection, HostMachine(connection).private_home(OWNER, "canary") as home:
        assert isinstance(home, HomeThere)
        yield home


def test_its_home_is_private_and_removed_and_the_password_is_in_no_command_line(host: Host) -> None:
    with home_on(host) as home:
        assert (home.there.stat().st_mode & 0o777, (home.there / PASSFILE).stat().st_mode & 0o777) == (0o700, 0o600)
        assert (home.there / PASSFILE).read_text() == "*:*:*:*:canary\n"
        lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
        assert not any(b"canary" in line for line in lines)
    assert not home.there.exists()


def test_its_lines_come_by_stream_and_its_exit_code_too(host: Host) -> None:
    events: Queue[object] = Queue()
    with home_on(host) as home:
        load = home.start(Command(["/bin/sh", "-c", "echo a; echo b >&2; pwd; exit 3"], ENVIRONMENT), events)
        assert until(lambda: load.exit_code() is not None)
        load.join()
        assert load.stop() == 3
        assert load.lost == ""
    found = {(event.stream, event.text) for event in drain(events) if isinstance(event, Line)}
    assert found == {("stdout", "a"), ("stderr", "b"), ("stdout", str(home.there))}


def test_a_stop_ends_all_its_processes_there(host: Host) -> None:
    events: Queue[object] = Queue()
    with home_on(host) as home:
        load = home.start(sleeping("3601"), events)
        assert until(lambda: len(sleepers("3601")) == 1)
        assert load.stop() == -15
        assert (sleepers("3601"), load.lost) == ([], "")


def test_a_cut_connection_ends_it_there_and_removes_its_home(own_sshd: SshServer) -> None:
    proxy = CuttingProxy(own_sshd.port)
    through = registered(own_sshd, name="cut", port=proxy.port)
    events: Queue[object] = Queue()
    with home_on(through) as home:
        load = home.start(sleeping("3602"), events)
        assert until(lambda: len(sleepers("3602")) == 1)
        proxy.limit = 0
        assert until(lambda: bool(load.lost))
        assert "the connection to host cut was lost" in load.lost
        assert until(lambda: not sleepers("3602") and not home.there.exists())
    proxy.close()


def test_a_worker_that_is_killed_leaves_nothing_there(host: Host) -> None:
    # the login is made in another process, which is killed as a crash would
    program = (
        "import sys, time, pathlib\n"
        "from queue import Queue\n"
        "import django; django.setup()\n"
        "from benchmarks.processes.command import Command\n"
        "from benchmarks.processes.host_machine import HostMachine\n"
        "from pools.hosts.ssh import SshConnection\n"
        "from pools.hosts.ssh_client import Hop, logged_in\n"
        "import json\n"
        "from core.installation import pausing\n"
        "pausing.is_paused = lambda: False\n"
        "hop = Hop(**json.load(sys.stdin))\n"
        "machine = HostMachine\n"
        "with logged_in([hop]) as client, machine(SshConnection(client)).private_home('x', 'canary') as home:\n"
        "    home.start(Command(['/bin/sleep', '3603'], {'PATH': '/usr/bin:/bin'}), Queue())\n"
        "    print(home.there, flush=True)\n"
        "    time.sleep(600)\n"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    assert worker.stdin
    assert worker.stdout
    worker.stdin.write(json.dumps(dataclasses.asdict(Hop.of(host))))
    worker.stdin.close()
    there = Path(worker.stdout.readline().strip())
    assert (there / PASSFILE).exists()
    assert until(lambda: len(sleepers("3603")) == 1)
    worker.kill()
    worker.wait()
    worker.stdout.close()
    assert until(lambda: not sleepers("3603") and not there.exists())


def test_a_host_that_hears_nothing_ends_it(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    with home_on(host) as home:
        load = home.start(sleeping("3604"), Queue())
        assert until(lambda: len(sleepers("3604")) == 1)
        monkeypatch.setattr(home.watchdog, "send", lambda letter: None)  # This simulates a network that drops packets.
        assert until(lambda: not sleepers("3604") and not home.there.exists())
        assert until(lambda: bool(load.lost) or load.exit_code() is not None)


def test_the_clock_of_a_host_is_read(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    with ssh.connected(host) as connection:
        machine = HostMachine(connection)
        assert abs(machine.clock_ahead_s()) < 0.2
        monkeypatch.setattr(machine, "answer", lambda argv: f"{time.time() + 7:.9f}")
        assert machine.clock_ahead_s() == pytest.approx(7, abs=0.01)
        monkeypatch.setattr(machine, "answer", lambda argv: f"{time.time() + 7:.0f}.%N")  # busybox prints it like this.
        assert machine.clock_ahead_s() == pytest.approx(7, abs=1.1)


def test_helpers_end_with_the_home(host: Host) -> None:
    with home_on(host) as home:
        home.follow("pgbench_log.*")
        home.processes(["postgres"])
        top = home.there.parent
        assert until(lambda: len(list(top.glob("*.helper"))) == 2)
        groups = [int(file.read_text()) for file in top.glob("*.helper")]
    assert not top.exists()
    assert not any(Path(f"/proc/{group}").exists() for group in groups)


def test_helpers_end_where_the_host_hears_nothing(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    with home_on(host) as home:
        home.processes(["postgres"])
        top = home.there.parent
        assert until(lambda: len(list(top.glob("*.helper"))) == 1)
        (group,) = (int(file.read_text()) for file in top.glob("*.helper"))
        monkeypatch.setattr(home.watchdog, "send", lambda letter: None)
        assert until(lambda: not Path(f"/proc/{group}").exists() and not top.exists())
