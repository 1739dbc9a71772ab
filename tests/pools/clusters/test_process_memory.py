"""The memory of sessions, from what a kernel says of their processes."""

from pathlib import Path

import pytest

from pools.clusters import process_memory
from pools.clusters.process_memory import ProcessMemory, Session, Why

SESSION = Session(10, "panel", "postgres", 40001)
# of a PostgreSQL 15 on Linux 6.18, whose session had read the catalog
ROLLUP = """\
55b0c1a00000-7ffd5d3f2000 ---p 00000000 00:00 0                          [rollup]
Rss:               34924 kB
Pss:               17356 kB
Pss_Dirty:         16929 kB
Pss_Anon:          16091 kB
Pss_File:            427 kB
Pss_Shmem:           837 kB
Shared_Clean:       9136 kB
Shared_Dirty:       9708 kB
Private_Clean:         0 kB
Private_Dirty:     16080 kB
"""


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A /proc with the server 1, the panel's own session 10, and the sessions 11 and 12."""
    titles = {1: "postgres", 10: "postgres: panel postgres 127.0.0.1(40001) idle", 11: "postgres", 12: "postgres"}
    for pid, title in titles.items():
        folder = tmp_path / str(pid)
        folder.mkdir()
        (folder / "cmdline").write_text(title + "\0")
        (folder / "stat").write_text(f"{pid} (postgres) S 1 1 1 0")
        (folder / "smaps_rollup").write_text(ROLLUP)
    monkeypatch.setattr(process_memory, "PROC", tmp_path)
    return tmp_path


def test_a_session_s_own_memory_is_anonymous_and_counts_no_shared_buffers(proc: Path) -> None:
    found = process_memory.measure(SESSION, [11, 12, 999])
    assert found == ProcessMemory(2, own=16_091 * 1024, proportional=17_356 * 1024)
    assert not found.counts_shared


def test_a_kernel_that_does_not_tell_it_has_the_whole_proportional_memory_instead(proc: Path) -> None:
    older = "".join(line for line in ROLLUP.splitlines(keepends=True) if not line.startswith("Pss_"))
    (proc / "11" / "smaps_rollup").write_text(older)
    found = process_memory.measure(SESSION, [11])
    assert found == ProcessMemory(1, own=17_356 * 1024, proportional=17_356 * 1024)
    assert found.counts_shared


def test_a_process_of_another_parent_is_not_the_servers(proc: Path) -> None:
    (proc / "11" / "stat").write_text("11 (postgres) S 7 7 7 0")
    assert process_memory.measure(SESSION, [11]) == Why.NONE_IDLE
