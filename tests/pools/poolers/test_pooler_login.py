"""What all logins of the panel to poolers have in common."""

import gc
from collections.abc import Iterator
from weakref import ref

import psycopg
import pytest

from panel.quickstart.servers import free_port
from pools.models import Pooler
from pools.poolers.pooler_login import LoginAddress, connected


class Held:
    """Something large that a caller works with."""


@pytest.fixture
def _no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collector")
def test_a_refused_login_leaves_nothing_of_its_callers_to_the_garbage_collector() -> None:
    def log_in(address: LoginAddress) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(**address)

    def refused() -> "ref[Held]":
        held = Held()
        with pytest.raises(psycopg.OperationalError, match="Connection refused"):
            connected(Pooler(host="127.0.0.1", port=free_port()), log_in)
        return ref(held)

    assert refused()() is None
