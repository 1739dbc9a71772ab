"""Sockets that listen, and addresses that are this host's own."""

import socket

import pytest

from benchmarks.overlays import local_pooler
from pools.models import Pooler, PoolerKind

TABLE = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1920 00000000:0000 0A 00000000:00000000 00:00000000 00000000   106        0 4711 1 0000000000000000
   1: 0100007F:1920 0100007F:C350 01 00000000:00000000 00:00000000 00000000   106        0 4712 1 0000000000000000
   2: 00000000:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000   105        0 4713 1 0000000000000000
"""


def test_a_socket_that_listens_at_the_port_is_told_by_its_inode(tmp_path):
    (tmp_path / "tcp").write_text(TABLE)
    tables = (tmp_path / name for name in ("tcp", "tcp6"))
    assert list(local_pooler.listening(tables, 6432)) == ["4711"]


@pytest.mark.parametrize(
    ("host", "is_own"), [("127.0.0.1", True), ("localhost", True), ("192.0.2.1", False), ("no.such.invalid", False)]
)
def test_an_address_is_this_hosts_own_where_it_can_be_bound_to(host, is_own):
    assert local_pooler._is_own_address(host) is is_own


def test_another_program_at_the_port_is_no_pgbouncer():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert local_pooler.pids_of(Pooler(kind=PoolerKind.PGBOUNCER, host="127.0.0.1", port=port)) == ()


def test_another_kind_of_pooler_is_not_looked_for():
    assert local_pooler.pids_of(Pooler(kind=PoolerKind.PGPOOL, host="127.0.0.1", port=1)) == ()
