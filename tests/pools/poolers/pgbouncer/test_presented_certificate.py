"""A pooler that has no encryption for its clients."""

import socket
import threading
from collections.abc import Iterator

import pytest

from pools.models import Pooler
from pools.poolers.pgbouncer import presented_certificate
from tests.pools.records import a_pooler

pytestmark = pytest.mark.django_db


@pytest.fixture
def pooler() -> Iterator[Pooler]:
    """One that answers `N` to the request for encryption."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            client, _address = server.accept()
            with client:
                client.recv(8)
                client.sendall(b"N")

        thread = threading.Thread(target=answer)
        thread.start()
        yield a_pooler(port=server.getsockname()[1])
        thread.join()


def test_without_encryption_there_is_no_certificate_to_differ(pooler: Pooler) -> None:
    assert presented_certificate.faults(pooler, "") == ["the pooler does not offer an encrypted connection"]
