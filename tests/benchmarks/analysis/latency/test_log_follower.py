"""Logs are read while they grow, and their room is given back to the disk."""

import os
import time
from pathlib import Path

import pytest

from benchmarks.analysis.latency.log_follower import Follower
from benchmarks.engines.log_files import LogFiles
from benchmarks.engines.pgbench.transaction_log import TransactionLog
from benchmarks.processes.logs import LogsHere, can_punch_holes

pytestmark = pytest.mark.usefixtures("few_are_enough")


FILES = LogFiles("pgbench_log.*", TransactionLog)


def followed(home: Path, files: LogFiles = FILES) -> Follower:
    return Follower(files, LogsHere(home, files.pattern))


def line(latency_us: int) -> str:
    now = time.time_ns() // 1000
    return f"0 1 {latency_us} 0 {now // 1_000_000} {now % 1_000_000}\n"


def test_the_files_of_all_threads_are_read_as_they_come_and_grow(tmp_path: Path):
    follower = followed(tmp_path)
    follower.read()
    with (tmp_path / "pgbench_log.7").open("w") as one, (tmp_path / "pgbench_log.7.1").open("w") as two:
        one.write(line(1_000) + line(3_000)[:9])
        one.flush()
        follower.read()
        assert follower.intervals.whole.count == 1
        two.write(line(2_000))
        two.flush()
        assert follower.end_interval(time.monotonic() + 0.01) == {
            "latency_p50_ms": 1.0,
            "latency_p95_ms": 2.0,
            "latency_p99_ms": 2.0,
        }
        one.write(line(3_000)[9:] + line(4_000))
    follower.close()
    assert (follower.intervals.whole.count, follower.broken) == (4, "")


def test_a_sampled_log_is_complete_with_what_chance_leaves_of_it(tmp_path: Path):
    follower = followed(tmp_path, LogFiles("pgbench_log.*", TransactionLog, sampling_rate=0.1))
    (tmp_path / "pgbench_log.7").write_text(line(1_000) * 35)
    assert follower.end_interval(time.monotonic() + 0.01, 500)  # 50 are to be expected, give or take 20
    assert not follower.end_interval(time.monotonic() + 0.01, 500)


def test_a_log_that_was_read_takes_no_room_while_its_writer_goes_on(tmp_path: Path):
    if not can_punch_holes(tmp_path):
        pytest.skip("this file system can't give parts of a file back")
    follower, path = followed(tmp_path), tmp_path / "pgbench_log.7"
    with path.open("w") as written:
        for _ in range(20):
            written.write(line(1_000) * 5_000)
            written.flush()
            follower.read()
            assert path.stat().st_blocks * 512 <= 8_192
        assert path.stat().st_size > 2_500_000
    follower.close()
    assert follower.intervals.whole.count == 100_000


def test_trying_the_file_system_leaves_nothing(tmp_path: Path):
    can_punch_holes(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_can_not_be_read_ends_the_following_and_not_the_load(tmp_path: Path):
    (tmp_path / "elsewhere").write_text(line(1))
    (tmp_path / "pgbench_log.7").symlink_to("elsewhere")
    follower = followed(tmp_path)
    follower.read()
    assert follower.end_interval(time.monotonic()) == {}
    follower.close()
    assert follower.broken.startswith("the log of transactions can't be read: [Errno 40]")
    assert follower.intervals.whole.count == 0


def test_files_are_let_go_of(tmp_path: Path):
    (tmp_path / "pgbench_log.7").write_text(line(1))
    before = len(list(Path("/proc/self/fd").iterdir()))
    follower = followed(tmp_path)
    follower.read()
    follower.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_folder_is_listed_again_only_when_it_has_changed(tmp_path: Path, monkeypatch):
    follower = followed(tmp_path)
    (tmp_path / "pgbench_log.7").write_text(line(1))
    long_ago = time.time() - 60
    os.utime(tmp_path, (long_ago, long_ago))
    follower.read()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "glob", lambda *_: pytest.fail("the folder was listed"))
        follower.read()
    (tmp_path / "pgbench_log.7.1").write_text(line(1))
    follower.read()
    assert follower.intervals.whole.count == 2
    follower.close()
