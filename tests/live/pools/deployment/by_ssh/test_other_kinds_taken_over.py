"""A Pgpool-II and an HAProxy of their operators are taken over and let go by SSH."""

import pytest

from panel.quickstart.servers import PostgresServer, free_port
from pools.deployment import take_overs
from pools.hosts import keys
from pools.inventory import hosts, poolers
from pools.models import Cluster, Host, Pooler, TakeOverState
from tests.live.pools.deployment.by_ssh.test_other_kinds import nothing_here
from tests.live.pools.deployment.take_over.operators_haproxy import OperatorsHAProxy
from tests.live.pools.deployment.take_over.test_pgpool import OperatorsPgpool
from tests.live.pools.hosts.conftest import reachable
from tests.live.sshds import SshServer

__all__ = ["nothing_here"]
pytestmark = pytest.mark.django_db(transaction=True)


def watched(values: dict[str, object], host: Host, sshd: SshServer) -> Pooler:
    """Watch it by SSH, with a line that opens what was found there."""
    hosts.discover(host)
    made, _problem = poolers.register({"name": "edge", "delivery": "ssh", "ssh_host": host, **values})
    sshd.let_in(keys.authorized_keys_line(host))
    assert poolers.check(made) == ""
    return Pooler.objects.get(pk=made.pk)


def taken_over_and_let_go(own: OperatorsHAProxy | OperatorsPgpool, pooler: Pooler) -> None:
    before = own.bytes_of_all()
    asked = take_overs.steps_of(pooler).request(pooler)
    take_overs.resume(pooler)
    asked.refresh_from_db()
    assert (asked.state, asked.reason) == (TakeOverState.TAKEN, "")
    after = own.bytes_of_all()
    assert {name: found[1:] for name, found in after.items()} == {name: found[1:] for name, found in before.items()}
    assert all(after[name][0].startswith(content) for name, (content, *_) in before.items())
    assert after != before
    pooler.refresh_from_db()
    take_overs.request_release(pooler)
    take_overs.resume(pooler)
    asked.refresh_from_db()
    assert (asked.state, asked.reason) == (TakeOverState.RELEASED, "")
    assert own.bytes_of_all() == before


def test_an_haproxy(server: PostgresServer, cluster: Cluster, host: Host, sshd: SshServer) -> None:
    words = {"@PG@": str(server.port), "@PAGE@": "1"}
    with (
        reachable() as home,
        OperatorsHAProxy(home, "pair", {**words, "@OTHER@": str(free_port()), "@THIRD@": str(free_port())}) as own,
    ):
        address = {"host": own.host, "port": own.port, "stats_address": str(own.stats_socket)}
        taken_over_and_let_go(own, watched({**address, "kind": "haproxy", "admin_user": "checker"}, host, sshd))


def test_a_pgpool(server: PostgresServer, cluster: Cluster, host: Host, sshd: SshServer) -> None:
    with reachable() as home, OperatorsPgpool(home, "rules", server, None) as own:
        address = {"host": own.host, "port": own.port, "pcp_port": own.pcp_port}
        login = {"admin_user": server.superuser, "admin_password": server.password}
        taken_over_and_let_go(own, watched({**address, **login, "kind": "pgpool"}, host, sshd))
