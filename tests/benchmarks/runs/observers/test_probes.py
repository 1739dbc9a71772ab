"""What is opened before a load: the processes of a PgBouncer alone; with servers: tests/live/benchmarks/overlays."""

import socket

from benchmarks.runs.observers import probes
from pools.models import Pooler, PoolerKind


def test_another_program_at_the_port_is_no_pgbouncer():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert probes.pooler_processes(Pooler(kind=PoolerKind.PGBOUNCER, host="127.0.0.1", port=port)) == ()


def test_another_kind_of_pooler_is_not_looked_for():
    assert probes.pooler_processes(Pooler(kind=PoolerKind.PGPOOL, host="127.0.0.1", port=1)) == ()
