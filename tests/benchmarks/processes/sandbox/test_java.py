"""Java in the sandboxes, as JMeter runs: a program that a plan brought to life reads nothing of the host."""

import shutil
import subprocess
import time
from pathlib import Path
from queue import Queue

import pytest

from benchmarks.engines.jmeter import binary
from benchmarks.processes import sandbox
from benchmarks.processes.command import Command
from benchmarks.processes.process import Line, LoadProcess, drain
from benchmarks.processes.sandbox import needs
from benchmarks.processes.workdir import private_home
from tests.benchmarks.processes.sandbox.mechanisms import MECHANISMS

pytestmark = pytest.mark.skipif(not shutil.which("javac"), reason="no javac here: install default-jdk-headless")
OWNER = "0123456789abcdef0123456789abcdef-2"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
PROBE = """
import java.nio.file.*;
public class Probe {
  static void attempt(String what, java.util.concurrent.Callable<Object> action) {
    try { action.call(); System.out.println(what + " done"); }
    catch (Throwable error) { System.out.println(what + " refused"); }
  }
  public static void main(String[] words) throws Exception {
    attempt("home", () -> Files.readAllBytes(Path.of("pgpass")));
    attempt("passwd", () -> Files.readAllBytes(Path.of("/etc/passwd")));
    attempt("panel", () -> Files.readAllBytes(Path.of(words[0])));
    attempt("shell", () -> new ProcessBuilder("/bin/sh", "-c", "true").start().waitFor());
    attempt("write", () -> Files.writeString(Path.of("/var/tmp/canary"), "x"));
    attempt("resolve", () -> java.net.InetAddress.getByName("localhost"));
  }
}
"""


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The compiled program."""
    folder = tmp_path_factory.mktemp("probe")
    (folder / "Probe.java").write_text(PROBE)
    subprocess.run(["javac", "-d", str(folder), str(folder / "Probe.java")], check=True)
    return (folder / "Probe.class").read_bytes()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_java_reads_its_home_and_starts_nothing(mechanism, probe: bytes) -> None:
    java = binary.java()
    assert sandbox._why_not(mechanism, needs.needs_of(java, reads=binary.java_files())) == ""
    with private_home(OWNER, "secret") as home:
        (home / "Probe.class").write_bytes(probe)
        (home / "Probe.class").chmod(0o644)
        confined = mechanism.words(needs.needs_of(java, reads=binary.java_files()), home)
        words = [*confined, java, "-Xmx64m", "-cp", str(home), "Probe", str(Path(__file__))]
        load = LoadProcess(words, ENVIRONMENT, home, Queue())
        deadline = time.monotonic() + 60
        while load.exit_code() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        load.join()
        code = load.stop()
        reported = {event.text for event in drain(load.events) if isinstance(event, Line)}
    assert code == 0, reported
    refused = {"passwd refused", "panel refused", "shell refused", "write refused"}
    assert {"home done", "resolve done", *refused} <= reported, reported
    assert not Path("/var/tmp/canary").exists()


def test_only_what_begins_at_the_programs_words_is_confined(monkeypatch: pytest.MonkeyPatch) -> None:
    java = binary.java()
    command = Command(["starter", "--", java, "-version"], {}, confined=True, confined_at=2, reads=binary.java_files())
    confined = sandbox.confine(command, Path("/home"))
    assert confined.argv[:2] == ["starter", "--"]
    assert confined.argv[-2:] == [java, "-version"]
    assert len(confined.argv) > 4
    assert confined.shown == command.argv
