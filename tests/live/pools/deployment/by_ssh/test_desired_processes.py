"""A PgBouncer on another host, taken over by SSH, gets a second process, and is let go once it has one again."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from core.lib.private_text import for_admins
from panel.quickstart import account
from panel.quickstart.servers import PostgresServer
from pools import deployment
from pools.deployment import take_overs
from pools.errors import IllegalTransition
from pools.inventory import poolers, pools
from pools.models import Cluster, Pooler, PoolState
from pools.poolers import KINDS
from tests.live.pools.deployment.by_ssh.conftest import LAYOUT
from tests.live.pools.deployment.by_ssh.test_by_ssh import ask_pool, log_in, taken_over
from tests.live.pools.deployment.take_over.conftest import OperatorsPgBouncer
from tests.live.pools.deployment.take_over.layouts import Layout
from tests.live.pools.hosts.conftest import reachable
from tests.live.standbys import until

MAIN = LAYOUT.files["pgbouncer.ini"].replace("unix_socket_dir =", "so_reuseport = 1\nunix_socket_dir = @DIR@/s")
SHARED = Layout("processes by ssh", {**LAYOUT.files, "pgbouncer.ini": MAIN, "s/empty": ""}, LAYOUT.entries)
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def own(server: PostgresServer, program: str) -> Iterator[OperatorsPgBouncer]:
    """The operator's PgBouncer, which was started with so_reuseport."""
    words = {"@PGHOST@": server.host, "@PGPORT@": str(server.port), "@SOCKETS@": str(server.socket_folder)}
    with reachable() as home, OperatorsPgBouncer(home, SHARED, program, words) as started:
        yield started


class Second(OperatorsPgBouncer):
    """The process of the panel's file for it."""

    @property
    def argv(self) -> list[str]:
        return [self.binary, str(self.config_dir / "pgbouncer-2.ini")]

    @property
    def folder(self) -> Path:
        """Of its socket."""
        return self.config_dir / "s" / f"pgbouncer-{self.port}-2"

    def prepare(self) -> None:
        """Do what its unit does before the start."""
        account.make_folder(self.folder)

    def probe(self) -> None:
        """Log in to the console of this very process."""
        login = {"user": self.admin_user, "password": self.admin_password, "dbname": "pgbouncer", "autocommit": True}
        psycopg.connect(host=str(self.folder), port=self.port, **login).close()


def ask(pooler: Pooler, count: int) -> None:
    poolers.change(pooler, {"desired_processes": count})
    apply(pooler)


def apply(pooler: Pooler) -> None:
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert (pooler.settings_state, for_admins(pooler.settings_reason)) == (PoolState.APPLIED, "")


def awaited(pooler: Pooler) -> str:
    poolers.check(pooler)
    pooler.refresh_from_db()
    return str(KINDS[pooler.kind].processes_awaited(pooler))


@pytest.mark.slow
def test_one_becomes_two_and_one_again(own: OperatorsPgBouncer, watched: Pooler, cluster: Cluster) -> None:
    before = own.bytes_of_all()
    assert taken_over(watched).reason == ""
    pool = ask_pool(watched, cluster)
    apply(watched)
    ask(watched, 2)
    assert awaited(watched) == "1 of 2 processes answers; to be started: pgbouncer-2.ini"
    content, mode, uid = own.bytes_of_all()["pgbouncer-2.ini"]
    assert (mode, uid) == before["pgbouncer.ini"][1:]
    assert f"unix_socket_dir = {own.config_dir}/s/pgbouncer-{own.port}-2\n".encode() in content
    second = Second(own.home, SHARED, own.binary, {})
    second.port = own.port
    with second:
        until(lambda: awaited(watched) == "each of the processes answers, and the next apply reads them back")
        apply(watched)
        assert (watched.applied_processes, awaited(watched)) == ([1, 2], "")
        pools.change(pool, {"size": 2}, None)
        apply(watched)
        assert {log_in(own, "orders") for _number in range(16)} == {"app"}
        pools.remove(pool)
        apply(watched)
        with pytest.raises(IllegalTransition, match="further processes have main files of the panel's"):
            take_overs.request_release(watched)
        ask(watched, 1)
        assert "stop that of pgbouncer-2.ini" in awaited(watched)
    until(lambda: awaited(watched) and watched.settings_state == PoolState.PENDING)
    apply(watched)
    assert awaited(watched) == ""
    take_overs.request_release(watched)
    take_overs.resume(watched)
    watched.refresh_from_db()
    assert (watched.is_watched, own.bytes_of_all()) == (True, before)
