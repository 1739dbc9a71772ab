"""The operator's command as a process: its input, its output, its end, and what is said of a failure."""

import json
import os
import sys
import time
from typing import Any

import psutil
import pytest

from pools.provisioning import hook_command
from pools.provisioning.hook_command import HookCommand, HookFailed

MADE = {"host": "db.example.org", "port": 5432, "admin_user": "postgres", "admin_password": "made-secret"}


def started(program: str, request: Any = None, within_s: float = 20) -> HookCommand:
    return HookCommand([sys.executable, "-c", "import json, os, sys, time\n" + program], request or {}, within_s)


def ended(command: HookCommand) -> HookCommand:
    deadline = time.monotonic() + 30
    while not command.has_ended():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return command


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def failure(program: str, within_s: float = 20) -> str:
    with pytest.raises(HookFailed) as error:
        ended(started(program, within_s=within_s)).output()
    return str(error.value)


def test_the_request_comes_as_json_on_standard_input() -> None:
    request = {"name": "x; $(touch /tmp/y) \"'", "tags": ["ä\n"], "num_nodes": 1}
    command = ended(started("print(json.dumps([json.load(sys.stdin), sys.argv]))", request))
    assert json.loads(command.output()) == [request, ["-c"]]


def test_the_command_gets_none_of_the_panels_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://panel:secret@host/panel")
    monkeypatch.setenv("CLOUD_TOKEN", "the operator's own")
    names = json.loads(ended(started("print(json.dumps(sorted(os.environ)))")).output())
    assert "CLOUD_TOKEN" in names
    assert [name for name in names if name.startswith(("POOLDECK_", "DATABASE_URL", "REDIS_URL"))] == []


def test_the_last_line_on_standard_error_is_the_reason() -> None:
    program = "print('one', file=sys.stderr); print('no server is left', file=sys.stderr); sys.exit(3)"
    assert failure(program) == "the command ended with code 3: no server is left"


def test_a_failure_without_a_reason_is_described() -> None:
    assert failure("sys.exit(3)") == "the command ended with code 3 and printed no reason on its standard error"


def test_a_reason_holds_no_password() -> None:
    program = f"print(json.dumps({MADE!r})); sys.exit('made-secret was refused')"
    assert failure(program) == "the command ended with code 1: … was refused"


def test_a_command_that_is_not_there_fails() -> None:
    with pytest.raises(HookFailed, match=r"code 127: .*No such file"):
        ended(HookCommand(["/nowhere/make-cluster"], {}, 20)).output()


def test_a_command_that_hangs_is_ended_with_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_command, "KILL_AFTER_S", 0.2)
    program = """
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "60"])
print(child.pid, flush=True)
time.sleep(60)
"""
    command = started(program, within_s=1)
    deadline = time.monotonic() + 30
    while not (printed := hook_command._content(command._stdout)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with pytest.raises(HookFailed, match="did not end within 1 s"):
        ended(command).output()
    while is_running(int(printed)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_command_that_prints_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_command, "MOST_BYTES", 1000)
    assert failure("while True: print('x' * 100, flush=True)") == "the command printed more than 1000 bytes"


def test_a_server_that_is_left_running_does_not_hold_the_command_up() -> None:
    program = "import subprocess; print(subprocess.Popen(['sleep', '60'], start_new_session=True).pid)"
    begun = time.monotonic()
    pid = int(ended(started(program)).output())
    assert time.monotonic() - begun < 30
    os.kill(pid, 9)


def test_an_answer_becomes_the_values_of_a_cluster() -> None:
    assert hook_command.created(json.dumps(MADE).encode()) == MADE
    more = {"maintenance_database": "admin", "sslmode": "require", "sslrootcert": "PEM"}
    assert hook_command.created(json.dumps(MADE | more | {"comment": 1}).encode()) == MADE | more
    assert hook_command.created(json.dumps(MADE | {"sslmode": None}).encode()) == MADE


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        (b"", "no JSON object"),
        (b"created made-secret", "no JSON object"),
        (b'["made-secret"]', "no JSON object"),
        (b"\xff", "no JSON object"),
        (b"[" * 100_000, "no JSON object"),
        (json.dumps(MADE | {"host": ""}).encode(), "host in the command's answer"),
        (json.dumps(MADE | {"host": None}).encode(), "host in the command's answer"),
        (json.dumps(MADE | {"admin_user": "\ud800"}).encode(), "admin_user in the command's answer"),
        (json.dumps(MADE | {"admin_password": 5}).encode(), "admin_password in the command's answer"),
        (json.dumps(MADE | {"port": "5432"}).encode(), "port in the command's answer"),
        (json.dumps(MADE | {"port": True}).encode(), "port in the command's answer"),
        (json.dumps(MADE | {"sslmode": 1}).encode(), "sslmode in the command's answer"),
    ],
)
def test_rubbish_is_refused_without_quoting_it(printed: bytes, words: str) -> None:
    with pytest.raises(HookFailed) as error:
        hook_command.created(printed)
    assert words in str(error.value)
    assert "secret" not in str(error.value)
