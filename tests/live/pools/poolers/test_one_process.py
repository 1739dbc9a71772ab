"""A program that takes all clients of its port itself is shown as one process, by its pid."""

import pytest

from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PgBouncerServer
from pools.inventory import poolers
from pools.models import Pooler

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("pgpool_binary", ["installed"], indirect=True)
def test_a_pgpool_is_the_parent_of_its_children(pgpool_pooler: Pooler, own_pgpool: PgpoolServer) -> None:
    poolers.check(pgpool_pooler)
    assert [(one["name"], one["pid"], one["state"]) for one in pgpool_pooler.processes] == [
        ("pgpool.conf", own_pgpool.process.pid, "online")
    ]
    assert (pgpool_pooler.shares_its_port, pgpool_pooler.processes_note) == (False, "")


def test_a_pgbouncer_is_known_by_its_pid(pooler: Pooler, pgbouncer: PgBouncerServer) -> None:
    poolers.check(pooler)
    assert [(one["name"], one["pid"]) for one in pooler.processes] == [("pgbouncer.ini", pgbouncer.process.pid)]
