"""The sandboxes as they work on this host: a program finds its own files, and no other program."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from queue import Queue

import pytest

from benchmarks.engines.pgbench import binary
from benchmarks.processes import sandbox
from benchmarks.processes.command import Command
from benchmarks.processes.process import Line, LoadProcess, drain
from benchmarks.processes.sandbox import landlock, needs
from benchmarks.processes.workdir import private_home
from tests.benchmarks.processes.sandbox.mechanisms import MECHANISMS

OWNER = "0123456789abcdef0123456789abcdef-1"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


@pytest.fixture(autouse=True)
def forgotten():
    """No test learns from another what works."""
    sandbox.mechanism_for.cache_clear()
    yield
    sandbox.mechanism_for.cache_clear()


@pytest.fixture
def home():
    with private_home(OWNER, "secret") as folder:
        yield folder


def carry_out(mechanism, home, program, *words):
    """Exit code and lines of a program in one sandbox."""
    load = LoadProcess([*mechanism.words(needs.needs_of(program), home), program, *words], ENVIRONMENT, home, Queue())
    deadline = time.monotonic() + 30
    while load.exit_code() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    load.join()
    return load.stop(), [event.text for event in drain(load.events) if isinstance(event, Line)]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_each_way_works_here(mechanism):
    program = binary.find().path
    assert sandbox._why_not(mechanism, needs.needs_of(program)) == ""


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_program_reads_its_home_and_nothing_of_the_host(mechanism, home):
    cat = shutil.which("cat")
    assert carry_out(mechanism, home, cat, str(home / "pgpass")) == (0, ["*:*:*:*:secret"])
    for elsewhere in ("/etc/passwd", "/proc/1/environ", str(Path(__file__)), "/root", "/var/log/dpkg.log"):
        code, reported = carry_out(mechanism, home, cat, elsewhere)
        assert code == 1
        assert any(word in reported[0] for word in ("No such file", "Permission denied"))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_program_writes_to_its_home_alone(mechanism, home):
    touch = shutil.which("touch")
    assert carry_out(mechanism, home, touch, str(home / "new"))[0] == 0
    assert (home / "new").exists()
    assert carry_out(mechanism, home, touch, "/canary", f"{home}-beside", "/usr/lib/canary")[0] == 1
    assert not Path("/canary").exists()
    assert not Path(f"{home}-beside").exists()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_program_resolves_names(mechanism, home):
    assert carry_out(mechanism, home, shutil.which("getent"), "hosts", "localhost")[0] == 0


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_other_program_is_started(mechanism, home):
    code, reported = carry_out(mechanism, home, shutil.which("env"), "/bin/sh", "-c", "echo reached")
    assert code in (126, 127)
    assert "reached" not in reported


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_exit_codes_and_signals_come_through(mechanism, home):
    assert carry_out(mechanism, home, shutil.which("sleep"), "wrong")[0] == 1
    sleep = shutil.which("sleep")
    load = LoadProcess([*mechanism.words(needs.needs_of(sleep), home), sleep, "60"], ENVIRONMENT, home, Queue())
    assert load.stop() == -signal.SIGTERM


def test_a_confined_command_shows_its_own_words(home):
    program = binary.find().path
    confined = sandbox.confine(Command([program, "--version"], ENVIRONMENT, confined=True), home)
    assert confined.shown == [program, "--version"]
    assert confined.argv[-2:] == [program, "--version"]
    assert confined.argv != confined.shown


def test_landlock_stands_in_where_bubblewrap_does_not_work(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert sandbox.mechanism_for(binary.find().path) is landlock


def test_a_container_without_user_namespaces_has_landlock():
    """As an account without rights, in a namespace that allows no further ones."""
    code = (
        "import django; django.setup();"
        "from benchmarks.processes import sandbox; from benchmarks.engines.pgbench import binary;"
        "print(sandbox.mechanism_for(binary.find().path).NAME)"
    )
    inside = 'echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-all --inh-caps=-all "$@"'
    if subprocess.run(["unshare", "--user", "--map-root-user", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespace can be made here")
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", inside, "sh", sys.executable, "-c", code],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "Landlock", done.stderr


def test_where_none_works_the_refusal_says_what_was_tried(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "executable", "/usr/bin/false")
    with pytest.raises(sandbox.NoSandbox) as refused:
        sandbox.mechanism_for(binary.find().path)
    assert str(refused.value).startswith(
        "a script of your own needs a sandbox, and none works here: bubblewrap is not installed; "
        "Landlock does not start"
    )


def test_a_sandbox_in_which_a_shell_starts_is_not_taken(monkeypatch):
    class Open:
        NAME = "an open one"
        words = staticmethod(lambda needs, home: ["env"])

    monkeypatch.setattr(sandbox, "MECHANISMS", (Open,))
    with pytest.raises(sandbox.NoSandbox, match="an open one lets /bin/sh start"):
        sandbox.mechanism_for(binary.find().path)


def test_a_script_in_place_of_a_program_is_refused(tmp_path):
    wrapper = tmp_path / "pgbench"
    wrapper.write_text("#!/bin/sh\necho pgbench\n")
    wrapper.chmod(0o755)
    with pytest.raises(sandbox.NoSandbox, match=f"bubblewrap does not start {wrapper}"):
        sandbox.mechanism_for(str(wrapper))
