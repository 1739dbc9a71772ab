"""The script that sends a load's logs from its host: every byte once, freed there, and nothing but the logs."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.processes import host_logs
from benchmarks.processes.host_helper import HostHelper
from benchmarks.processes.host_logs import HostLogs

SCRIPT = Path(host_logs.__file__).parent / "scripts" / "follow_logs.sh"
LINE = b"0 1 1000 0 1700000000 000001\n"
Follow = Callable[..., HostLogs]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def follow(home: Path) -> Iterator[Follow]:
    """Starts it as on a host, with these programs alone where they are named."""
    started: list[HostLogs] = []

    def start(script: str = "", path: str = os.environ["PATH"]) -> HostLogs:
        words = ["/bin/sh", "-c", script or SCRIPT.read_text(), "follow_logs.sh", "pgbench_log.*"]
        child = subprocess.Popen(
            words, cwd=home, env={"PATH": path}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        started.append(HostLogs(HostHelper(child), "pgbench_log.*", "db-1", 0.0))
        return started[-1]

    yield start
    for one in started:
        one.close()


def received(logs: HostLogs, into: dict[str, bytes]) -> dict[str, bytes]:
    for name, chunk in logs.appended():
        into[name] = into.get(name, b"") + chunk
    return into


def test_every_byte_of_every_log_comes_once(follow: Follow, home: Path) -> None:
    logs, came = follow(), {}
    with (home / "pgbench_log.7").open("wb") as one, (home / "pgbench_log.7.1").open("wb") as two:
        for count in (1, 300, 20_000, 7):
            one.write(LINE * count)
            two.write(LINE * 2 * count)
            one.flush()
            two.flush()
            logs.catch_up()
            received(logs, came)
    assert len(came["pgbench_log.7"]) > 500_000, "they come while the load writes them"
    logs.finish()
    received(logs, came)
    assert {name: len(all_of) for name, all_of in came.items()} == {
        "pgbench_log.7": len(LINE) * 20_308,
        "pgbench_log.7.1": len(LINE) * 2 * 20_308,
    }
    assert came["pgbench_log.7"] == LINE * 20_308
    assert logs.why_not == ""


def test_what_was_sent_takes_no_room_there(follow: Follow, home: Path) -> None:
    logs, came, log = follow(), {}, home / "pgbench_log.7"
    if logs.why_not:
        pytest.skip(logs.why_not)
    with log.open("wb") as written:
        for _second in range(10):
            written.write(LINE * 20_000)
            written.flush()
            logs.catch_up()
            received(logs, came)
    logs.finish()
    received(logs, came)
    assert len(came["pgbench_log.7"]) == log.stat().st_size == len(LINE) * 200_000
    assert log.stat().st_blocks * 512 < 300_000


def test_a_link_is_not_followed(follow: Follow, home: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"canary" * 10_000)
    (home / "pgbench_log.8").symlink_to(tmp_path / "secret")
    (home / ".trial").symlink_to(tmp_path / "secret")
    logs = follow()
    logs.catch_up()
    logs.finish()
    assert received(logs, {}) == {}
    assert (tmp_path / "secret").read_bytes() == b"canary" * 10_000


@pytest.mark.parametrize("tool", ["dd", "fallocate"])
def test_a_log_that_becomes_a_link_is_neither_sent_nor_freed_through_it(
    follow: Follow, home: Path, tmp_path: Path, tool: str
) -> None:
    secret, log, shims = tmp_path / "secret", home / "pgbench_log.7", tmp_path / "shims"
    secret.write_bytes(b"canary" * 50_000)
    log.write_bytes(LINE * 20_000)
    shims.mkdir()
    words = f"""#!/bin/sh
case $* in *nofollow*) exit 1 ;; esac # as busybox
case $* in *trial*) ;; *) ln -sf {secret} {log} ;; esac
exec /usr/bin/{tool} "$@"
"""
    (shims / tool).write_text(words)
    (shims / tool).chmod(0o755)
    logs = follow(path=f"{shims}:{os.environ['PATH']}")
    if logs.why_not:
        pytest.skip(logs.why_not)
    logs.catch_up()
    logs.finish()
    assert log.is_symlink()
    assert b"canary" not in b"".join(received(logs, {}).values())
    assert secret.read_bytes() == b"canary" * 50_000


def test_a_host_without_fallocate_logs_nothing_and_says_why(follow: Follow, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("head", "dd", "stat", "rm", "tail"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    logs = follow(path=str(programs))
    assert logs.why_not.startswith("host db-1 can't free the parts of a log that were read: ")
    assert "fallocate" in logs.why_not
    logs.catch_up()
    logs.finish()
    assert received(logs, {}) == {}


def test_more_than_is_kept_is_freed_and_the_log_is_given_up(follow: Follow, home: Path) -> None:
    logs = follow(SCRIPT.read_text().replace("kept=16384", "kept=100"))
    (home / "pgbench_log.7").write_bytes(LINE * 50_000)
    logs.catch_up()
    logs.finish()
    with pytest.raises(OSError, match="more was logged than the connection to host db-1 carries"):
        received(logs, {})
    assert (home / "pgbench_log.7").stat().st_blocks * 512 < 10_000


@pytest.mark.parametrize(
    "sent",
    ["/etc/passwd 6\nroot:x", "pgbench_log.7 99999999\n", "nonsense\n", "pgbench_log.7 12\n" + "x" * 12 + "pgbench"],
)
def test_a_host_that_sends_anything_else_is_not_believed(follow: Follow, sent: str) -> None:
    logs = follow(f"echo logs ready; printf '%s' '{sent}'; cat > /dev/null")
    logs.finish()
    with pytest.raises(OSError, match="host db-1 sent"):
        received(logs, {})


def test_what_is_not_read_here_is_held_up_to_a_limit(follow: Follow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_logs, "HELD_BYTES", 5_000_000)
    logs = follow(
        "echo logs ready; while :; do echo pgbench_log.7 1000000; head -c 1000000 /dev/zero || exit; done", "/usr/bin"
    )
    came: dict[str, bytes] = {}
    time.sleep(1)
    with pytest.raises(OSError, match="host db-1 sent more than could be read"):
        received(logs, came)
    assert 0 < len(came["pgbench_log.7"]) <= 5_000_000
