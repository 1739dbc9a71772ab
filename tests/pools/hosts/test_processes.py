"""What a host says of its processes."""

from pools.hosts import processes
from pools.hosts.base import CompletedCommand
from pools.hosts.worker import WorkerConnection

SAID = b"""process 812
ppid 1
user postgres
exe /usr/sbin/pgbouncer
cwd /
unit pgbouncer.service
argv /usr/sbin/pgbouncer\x1f/etc/pgbouncer/pgbouncer.ini\x1f
sockets 11 12 13 14
name pgbouncer
process 813
ppid
user
exe
cwd
unit
argv
sockets
name
tcp 11 0100007F:1920
tcp 14 00000000000000000000000001000000:1920
tcp 99 00000000:0016
unix 12 /var/run/postgresql/.s.PGSQL.6432
unix 13 /run/admin.sock.812.tmp
"""


class Host(WorkerConnection):
    """One that says this; its second process ended while it was looked at."""

    def script(self, name: str, *words: str, stdin: bytes = b"", timeout_s: float = 0) -> CompletedCommand:
        return CompletedCommand(0, SAID, b"")


def test_ports_are_those_of_a_processs_own_sockets_and_ended_processes_are_left_out() -> None:
    (found,) = processes.of_programs(Host(), ["pgbouncer"])
    assert (found.pid, found.parent, found.name, found.user) == (812, 1, "pgbouncer", "postgres")
    assert (found.ports, found.socket_folders) == ({6432}, {"/var/run/postgresql"})
    assert found.control_sockets == {"/run/admin.sock"}
    assert found.listeners == {("127.0.0.1", 6432), ("::1", 6432)}
    assert found.argv == ("/usr/sbin/pgbouncer", "/etc/pgbouncer/pgbouncer.ini")
    assert (found.unit, found.path_of("a.ini")) == ("pgbouncer.service", "/a.ini")
