"""Programs end together, and nothing of them is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from panel.quickstart import restarts, supervise
from panel.quickstart.home import Home
from panel.quickstart.programs import Program, ProgramFailed
from panel.quickstart.restarts import Restarts
from panel.quickstart.supervise import StopRequested, Supervisor, catch_signals, request_stop

pytestmark = pytest.mark.usefixtures("restored_signals")


class Shell(Program):
    """A program of a few words of sh."""

    def __init__(self, home: Path, name: str, words: str) -> None:
        self.name, self.words = name, words
        super().__init__(home)

    @property
    def argv(self) -> list[str]:
        return ["sh", "-c", self.words]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.open()
    return made


def pid_of(program: Program) -> int:
    assert program.process is not None
    return program.process.pid


def is_gone(pid: int) -> bool:
    """Whether nothing runs under it (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def gone_soon(pid: int) -> bool:
    """The same of one that was killed a moment ago."""
    deadline = time.monotonic() + 30
    while not is_gone(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return is_gone(pid)


def test_all_end_with_the_context(home: Home) -> None:
    with Supervisor(home) as supervisor:
        pids = [pid_of(supervisor.start(Shell(home.path, name, "exec sleep 60"))) for name in ("one", "two")]
    assert [is_gone(pid) for pid in pids] == [True, True]


def test_children_of_a_program_end_too(home: Home) -> None:
    with Supervisor(home) as supervisor:
        program = supervisor.start(Shell(home.path, "parent", "sleep 60 & echo $!; wait"))
        supervisor.wait_for("it prints", 5, lambda: program.log.strip())
        child = int(program.log)
    assert gone_soon(child)


def test_a_program_that_ends_before_all_is_ready_is_told_with_the_end_of_its_log(home: Home) -> None:
    with Supervisor(home) as supervisor:
        supervisor.start(Shell(home.path, "brittle", "echo out of luck; exit 3"))
        with pytest.raises(ProgramFailed, match=r"(?s)brittle ended with exit code 3.*out of luck"):
            supervisor.wait_for("the moon is blue", 30, lambda: False)


def watched(supervisor: Supervisor, until: Callable[[list[str]], object]) -> list[str]:
    """What was told until it was so."""
    described: list[str] = []

    def report(sentence: str) -> None:
        described.append(sentence)
        if until(described):
            raise StopRequested

    with pytest.raises(StopRequested):
        supervisor.watch(report)
    return described


def test_a_program_that_dies_is_started_again_with_its_children_gone_and_its_log_kept(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Supervisor(home) as supervisor:
        program = supervisor.start(Shell(home.path, "worker", "sleep 60 & echo $!; wait"))
        steady = pid_of(supervisor.start(Shell(home.path, "steady", "exec sleep 60")))
        supervisor.wait_for("it prints", 5, lambda: program.log.strip())
        program.kill()
        spawn = program.spawn

        def spawned() -> None:
            spawn()
            raise StopRequested

        monkeypatch.setattr(program, "spawn", spawned)
        described: list[str] = []
        with pytest.raises(StopRequested):
            supervisor.watch(described.append)
        supervisor.wait_for("it prints again", 5, lambda: len(program.log.split()) == 2)
        first, second = (int(word) for word in program.log.split())
        assert (gone_soon(first), is_gone(second), is_gone(steady)) == (True, False, False)
    (sentence,) = described
    assert sentence.startswith("worker ended with exit code -9; starting it again in 0.5 s")
    assert (gone_soon(second), is_gone(steady)) == (True, True)


def test_a_program_that_dies_five_times_in_a_minute_is_given_up_and_the_others_run_on(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "FIRST_BACK_OFF_S", 0.01)
    with Supervisor(home) as supervisor:
        supervisor.start(Shell(home.path, "brittle", "echo out of luck; exit 3"))
        steady = pid_of(supervisor.start(Shell(home.path, "steady", "exec sleep 60")))
        described = watched(supervisor, lambda described: "not started again" in described[-1])
        assert not is_gone(steady)
        supervisor.poll()  # one that was given up fails nobody
    assert len(described) == 5
    assert described[-1].startswith(
        "brittle ended with exit code 3, 5 times in 60 s: it is not started again, the others"
    )
    assert described[-1].endswith("out of luck")


def test_a_program_that_waits_to_end_is_sent_its_stop_signal_once_and_started_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hanging(Shell):
        @property
        def is_stopping(self) -> bool:
            return "asked" in self.log

    monkeypatch.setattr(supervise, "STOPS_WITHIN_S", 0.3)
    with Supervisor(home) as supervisor:
        program = supervisor.start(Hanging(home.path, "hanging", "echo asked; exec sleep 60"))
        described = watched(supervisor, lambda described: len(described) == 2)
        assert program.process is None
    assert described[0] == "hanging has been shutting down for 0 s, so its sessions are ended now"
    assert described[1].startswith("hanging ended with exit code -15; starting it again in 0.5 s")


def test_a_restart_on_request_does_not_count_as_an_end(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    with Supervisor(home) as supervisor:
        program = supervisor.start(Shell(home.path, "postgres", "exec sleep 60"))
        spawn = program.spawn

        def end_it() -> None:
            home.restart_request("postgres").touch()
            program.kill()

        def spawned() -> None:
            spawn()
            end_it()

        monkeypatch.setattr(program, "spawn", spawned)
        end_it()
        described = watched(supervisor, lambda described: len(described) > restarts.START_LIMIT_BURST)
    assert described == ["postgres is restarted on request"] * (restarts.START_LIMIT_BURST + 1)
    assert not home.restart_request("postgres").exists()


def test_a_restart_on_request_while_all_start_is_completed(home: Home) -> None:
    with Supervisor(home) as supervisor:
        program = supervisor.start(Shell(home.path, "postgres", "exec sleep 60"))
        first = pid_of(program)
        home.restart_request("postgres").touch()
        program.kill()
        supervisor.wait_for("it runs again", 30, lambda: program.is_running and pid_of(program) != first)
        program.kill()
        with pytest.raises(ProgramFailed, match="postgres ended with exit code -9"):
            supervisor.wait_for("the moon is blue", 30, lambda: False)


def test_a_request_of_an_earlier_start_is_forgotten(home: Home) -> None:
    home.restart_request("postgres").touch()
    with Supervisor(home) as supervisor:
        supervisor.start(Shell(home.path, "postgres", "exit 3"))
        with pytest.raises(ProgramFailed, match="postgres ended with exit code 3"):
            supervisor.wait_for("the moon is blue", 30, lambda: False)


def test_the_wait_before_a_start_doubles_and_old_ends_are_forgotten() -> None:
    counted = Restarts()
    assert [counted.ended(now) for now in (0.0, 1.0, 2.0, 3.0)] == [0.5, 1.0, 2.0, 4.0]
    assert [counted.is_due(now) for now in (6.9, 7.0, 7.1)] == [False, True, False]
    assert counted.ended(61.5) == 2.0  # those of 2 s and 3 s still count
    assert not counted.gave_up
    assert [counted.ended(now) for now in (61.6, 61.7)] == [4.0, None]
    assert counted.gave_up


def test_one_that_ignores_its_signal_is_killed_at_the_deadline(home: Home) -> None:
    stubborn = Shell(home.path, "stubborn", "trap '' TERM; while :; do sleep 0.1; done")
    stubborn.stop_within_s = 0.3
    with Supervisor(home) as supervisor:
        pid = pid_of(supervisor.start(stubborn))
        time.sleep(0.2)
    assert is_gone(pid)


def test_waiting_ends_at_its_deadline_with_what_was_waited_for(home: Home) -> None:
    with (
        pytest.raises(ProgramFailed, match=r"not so after 0 s: the moon is blue \(it is gray\)"),
        Supervisor(home) as supervisor,
    ):
        supervisor.wait_for("the moon is blue", 0.1, lambda: False, lambda: "it is gray")


def test_the_log_of_the_last_start_is_kept(home: Home) -> None:
    for words in ("echo first; exec sleep 60", "echo second; exec sleep 60"):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # ignored since the first ended, which programs would inherit
        with Supervisor(home) as supervisor:
            program = supervisor.start(Shell(home.path, "teller", words))
            supervisor.wait_for("it prints", 5, lambda program=program: program.log.strip())
    assert (home.log_folder / "teller.log.1").read_text() == "first\n"
    assert (home.log_folder / "teller.log").read_text() == "second\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_asks_for_the_end_and_a_second_one_is_ignored(number: signal.Signals) -> None:
    signal.signal(number, signal.SIG_DFL)  # a test run under nohup ignores SIGHUP
    catch_signals()
    with pytest.raises(StopRequested, match=number.name):
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) == signal.SIG_IGN


def test_a_start_with_nohup_outlives_its_terminal() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    catch_signals()
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) == request_stop


def test_programs_die_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    script = f"""
import signal
import time
from pathlib import Path
from panel.quickstart import restarts, supervise
from panel.quickstart.home import Home
from panel.quickstart.restarts import Restarts
from panel.quickstart.supervise import Supervisor
from tests.panel.quickstart.test_supervise import Shell
home = Home(Path({str(tmp_path)!r}))
home.open()
program = Supervisor(home).start(Shell(home.path, "orphan", "exec sleep 60"))
while Path(f"/proc/{{program.process.pid}}/comm").read_text() != "sleep\\n":  # the kernel is asked before that
    time.sleep(0.01)
print(program.process.pid, flush=True)
signal.pause()
"""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment) as supervisor:
        assert supervisor.stdout
        pid = int(supervisor.stdout.readline())
        supervisor.kill()
    assert gone_soon(pid)
