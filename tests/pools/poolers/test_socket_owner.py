"""The process at the other end of a connection of this host."""

import os
import socket

import pytest

from pools.poolers import socket_owner


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_the_process_at_the_other_end_of_a_connection_is_found(family, address):
    with socket.socket(family) as listening, socket.socket(family) as client:
        listening.bind((address, 0))
        listening.listen()
        client.connect(listening.getsockname()[:2])
        with listening.accept()[0]:
            assert socket_owner.peer_of(client) == os.getpid()
            assert socket_owner.peer_of(client, [1, os.getpid()]) == os.getpid()


def test_a_connection_whose_other_end_is_closed_leads_to_no_process():
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()) as one:
        listening.accept()[0].close()
        assert one.recv(1) == b""
        assert socket_owner.peer_of(one) is None
