"""What a host says of its processes."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

from pools.hosts import processes
from pools.hosts.base import CompletedCommand, script
from pools.hosts.worker import WorkerConnection

PRINTED = b"""name 812 pgbouncer
ppid 812 1
unit 812 pgbouncer.service
argv 812 /usr/sbin/pgbouncer\x1f/etc/pgbouncer/pgbouncer.ini\x1f
name 813 pgbouncer
ppid 813 812
argv 813
user 812 postgres
exe 812 /usr/sbin/pgbouncer
cwd 812 /
socket 812 11
socket 812 12
socket 812 13
socket 812 14
tcp 11 0100007F:1920
tcp 14 00000000000000000000000001000000:1920
tcp 99 00000000:0016
unix 12 /var/run/postgresql/.s.PGSQL.6432
unix 13 /run/admin.sock.812.tmp
"""


class Answers(WorkerConnection):
    """A host whose script prints these lines."""

    def __init__(self, printed: bytes) -> None:
        super().__init__()
        self.printed = printed

    def script(self, name: str, *words: str, stdin: bytes = b"", timeout_s: float = 0) -> CompletedCommand:
        return CompletedCommand(0, self.printed, b"")


def test_ports_are_those_of_a_processs_own_sockets_and_ended_processes_are_left_out() -> None:
    (found,) = processes.of_programs(Answers(PRINTED), ["pgbouncer"])
    assert (found.pid, found.parent, found.name, found.user) == (812, 1, "pgbouncer", "postgres")
    assert (found.ports, found.socket_folders) == ({6432}, {"/var/run/postgresql"})
    assert found.control_sockets == {"/run/admin.sock"}
    assert found.listeners == {("127.0.0.1", 6432), ("::1", 6432)}
    assert found.argv == ("/usr/sbin/pgbouncer", "/etc/pgbouncer/pgbouncer.ini")
    assert (found.unit, found.path_of("a.ini")) == ("pgbouncer.service", "/a.ini")


def test_programs_are_started_for_all_processes_at_once(tmp_path: Path) -> None:
    program, tools, calls = tmp_path / "pd_sleeper", tmp_path / "tools", tmp_path / "calls"
    shutil.copy(shutil.which("sleep") or "", program)
    tools.mkdir()
    for name in ("grep", "tr", "sed", "ls", "awk", "readlink"):
        counted = f'#!/bin/sh\necho {name} >> "{calls}"\nexec {shutil.which(name)} "$@"\n'
        (tools / name).write_text(counted)
        (tools / name).chmod(0o755)
    sleepers = [subprocess.Popen([program, "60"], cwd=tmp_path) for _ in range(6)]
    try:
        run = subprocess.run(
            ["/bin/sh", "-c", script("processes.sh"), "processes.sh", program.name],
            env={"PATH": str(tools)}, capture_output=True, check=True,
        )  # fmt: skip
    finally:
        for one in sleepers:
            one.kill()
            one.wait()
    found = list(processes.of_programs(Answers(run.stdout), [program.name]))
    assert {one.pid for one in found} == {one.pid for one in sleepers}
    assert {(one.exe, one.cwd, one.argv) for one in found} == {(str(program), str(tmp_path), (str(program), "60"))}
    started = Counter(calls.read_text().split())
    assert started.pop("tr") <= len(sleepers) + 1  # a command line has NULs, which the shell can't read
    assert max(started.values()) < len(sleepers)
