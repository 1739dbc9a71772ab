"""A Pgpool-II before a primary and its standby: backends, weights, reads sent to the standby, attach and detach."""

from collections.abc import Iterator

import psycopg
import pytest
from django.test import Client

from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PostgresServer, free_port
from pools import deployment
from pools.diagnosis import diagnosis
from pools.errors import PoolerUnreachable
from pools.models import Cluster, Pool, Pooler, PoolState, RevisionState
from pools.poolers.pgpool import node_admin, pcp
from tests import callers
from tests.live.conftest import CHILDREN
from tests.live.standbys import StandbyServer, until
from tests.pages import page_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("without_trial")]


@pytest.fixture
def standby(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandbyServer]:
    with StandbyServer(tmp_path_factory.mktemp("standby"), free_port(), postgres) as server:
        yield server


@pytest.fixture
def balanced(cluster: Cluster, standby: StandbyServer, pgpool_pooler: Pooler, own_pgpool: PgpoolServer) -> Pooler:
    """The Pgpool-II with both as backends, the primary taking no reads, after its restart."""
    cluster.nodes.create(host=standby.host, port=standby.port)
    values = {"name": "app", "database": "app", "user": "app", "mode": "session", "size": CHILDREN}
    Pool.objects.create(pooler=pgpool_pooler, cluster=cluster, **values)
    asked = {"backend_weight0": 0, "backend_weight1": 3, "sr_check_period": 1}
    Pooler.objects.filter(pk=pgpool_pooler.pk).update(settings=asked, settings_state=PoolState.PENDING)
    pgpool_pooler.refresh_from_db()
    revision = deployment.apply_pooler(pgpool_pooler)
    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    pgpool_pooler.refresh_from_db()
    waiting = {one["name"]: one["wanted"] for one in pgpool_pooler.needs_restart}
    assert waiting == {"backend_clustering_mode": "streaming_replication"}  # the fixture starts it in raw mode
    own_pgpool.stop()
    own_pgpool.start()  # The start writes the operator's part again.
    return pgpool_pooler


def roles(pooler: Pooler) -> list[tuple[int, str, bool]]:
    """Number, role and whether it is up; nothing while the children start anew after a change."""
    try:
        return [(node.number, node.role, node.is_up) for node in node_admin.of_pooler(pooler)]
    except PoolerUnreachable:
        return []


def served_by(server: PgpoolServer) -> int:
    """The port of the server that answers a read; 0 while the children start anew."""
    address = {"host": server.host, "port": server.port, "dbname": "app", "user": "app", "password": "app-password"}
    try:
        with psycopg.connect(**address, connect_timeout=5, autocommit=True) as session:
            return session.execute(b"SELECT inet_server_port()").fetchone()[0]
    except psycopg.OperationalError:
        return 0


def test_reads_go_to_the_standby_by_weight(balanced: Pooler, standby: StandbyServer, own_pgpool: PgpoolServer) -> None:
    until(lambda: roles(balanced) == [(0, "primary", True), (1, "standby", True)])
    assert {served_by(own_pgpool) for _ in range(5)} == {standby.port}


def test_a_diagnosis_asks_the_primary_for_its_own_processes(
    balanced: Pooler, standby: StandbyServer, own_pgpool: PgpoolServer, postgres: PostgresServer
) -> None:
    until(lambda: roles(balanced) == [(0, "primary", True), (1, "standby", True)])
    addresses = {"0": (postgres.host, postgres.port), "1": (standby.host, standby.port)}
    assert pcp.backends(balanced, addresses) == addresses
    login = {"dbname": "app", "user": "app", "password": "app-password", "connect_timeout": 5}
    with psycopg.connect(host=own_pgpool.host, port=own_pgpool.port, autocommit=True, **login) as session:
        session.execute(b"SELECT 1")
        found = diagnosis.of(Pool.objects.select_related("pooler", "cluster").get())
    print(found)
    known = {one.server.server: one.session is not None for one in found.holders if one.server.is_busy}
    assert known == {addresses["0"]: True, addresses["1"]: False}
    assert any(f"(127.0.0.1:{standby.port})" in note for note in found.notes)


def test_a_node_is_detached_and_attached_from_its_page(
    balanced: Pooler, standby: StandbyServer, own_pgpool: PgpoolServer, postgres: PostgresServer, admin_client: Client
) -> None:
    until(lambda: roles(balanced) == [(0, "primary", True), (1, "standby", True)])
    page = f"/poolers/{balanced.pk}/nodes/"
    assert f"127.0.0.1:{standby.port}" in page_of(admin_client.get(page))
    assert "Detach it" in page_of(admin_client.get(f"{page}1/detach/"))

    admin_client.post(f"{page}1/detach/")

    until(lambda: (1, "standby", False) in roles(balanced))
    until(lambda: served_by(own_pgpool) == postgres.port)
    assert "It is the only backend that is up" in page_of(admin_client.get(f"{page}0/detach/"))

    admin_client.post(f"{page}1/attach/")

    until(lambda: (1, "standby", True) in roles(balanced))
    until(lambda: served_by(own_pgpool) == standby.port)


def test_clients_are_let_in_again_after_all_nodes_were_detached(
    cluster: Cluster, pgpool_pooler: Pooler, own_pgpool: PgpoolServer, admin_client: Client
) -> None:
    values = {"name": "app", "database": "app", "user": "app", "mode": "session", "size": CHILDREN}
    Pool.objects.create(pooler=pgpool_pooler, cluster=cluster, **values)
    deployment.apply_pooler(pgpool_pooler)
    page = f"/poolers/{pgpool_pooler.pk}/nodes/"

    def is_shut() -> bool:
        """Detach it, again where Pgpool-II was at another failover and forgot the first request."""
        admin_client.post(f"{page}0/detach/")
        return "The pooler did not list its nodes" in page_of(admin_client.get(page))

    until(is_shut)

    assert admin_client.post(f"{page}0/attach/").status_code == 302

    until(lambda: [up for _, _, up in roles(pgpool_pooler)] == [True])
    until(lambda: served_by(own_pgpool) == cluster.port)


def test_attaching_over_the_api_answers_with_the_backends(
    balanced: Pooler, standby: StandbyServer, own_pgpool: PgpoolServer
) -> None:
    """Its children start anew after a change and let nobody in for a moment, which answered 502."""
    until(lambda: roles(balanced) == [(0, "primary", True), (1, "standby", True)])
    address, caller = f"/api/v1/poolers/{balanced.pk}/", callers.bearer("read", "apply")
    for verb, is_up in (("detach-node", False), ("attach-node", True)):
        answer = caller.post(f"{address}{verb}/", {"number": 1})
        assert answer.status_code == 200, answer.data
        assert len(answer.data["results"]) == 2
        until(lambda is_up=is_up: roles(balanced)[-1:] == [(1, "standby", is_up)])


def test_a_standby_that_comes_later_is_attached_by_the_apply(
    cluster: Cluster, standby: StandbyServer, pgpool_pooler: Pooler
) -> None:
    values = {"name": "app", "database": "app", "user": "app", "mode": "session", "size": CHILDREN}
    pool = Pool.objects.create(pooler=pgpool_pooler, cluster=cluster, **values)
    deployment.apply_pooler(pgpool_pooler)
    cluster.nodes.create(host=standby.host, port=standby.port)
    Pool.objects.filter(pk=pool.pk).update(state=PoolState.PENDING)

    revision = deployment.apply_pooler(pgpool_pooler)

    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    assert "attached" in {step["step"] for step in revision.steps}
    until(lambda: [up for _, _, up in roles(pgpool_pooler)] == [True, True])


def test_a_standby_that_is_registered_reaches_the_pgpool(
    cluster: Cluster, standby: StandbyServer, postgres: PostgresServer, pgpool_pooler: Pooler
) -> None:
    values = {"name": "app", "database": "app", "user": "app", "mode": "session", "size": CHILDREN}
    pool = Pool.objects.create(pooler=pgpool_pooler, cluster=cluster, **values)
    deployment.apply_pooler(pgpool_pooler)
    node = {"host": standby.host, "port": standby.port, "admin_password": postgres.password}
    added = callers.bearer().post(f"/api/v1/clusters/{cluster.pk}/nodes/", node)
    assert added.status_code == 201, added.data
    pool.refresh_from_db()
    assert (pool.state, "the standbys are now" in pool.state_reason) == (PoolState.PENDING, True)
    assert deployment.apply_pooler(pgpool_pooler).number == 2
    until(lambda: [up for _, _, up in roles(pgpool_pooler)] == [True, True])


def test_an_apply_with_nothing_to_do_says_so(cluster: Cluster, pgpool_pooler: Pooler) -> None:
    caller, address = callers.bearer("read", "apply"), f"/api/v1/poolers/{pgpool_pooler.pk}/apply/"
    bare = caller.post(address)
    assert (bare.status_code, bare.data["detail"]) == (
        202,
        "nothing to apply: the panel has no pool on this pooler, so its files and backends stay as they are",
    )
    values = {"name": "app", "database": "app", "user": "app", "mode": "session", "size": CHILDREN}
    Pool.objects.create(pooler=pgpool_pooler, cluster=cluster, **values)
    assert caller.post(address).data["detail"] == ""
    deployment.apply_pooler(pgpool_pooler)
    assert caller.post(address).data["detail"] == "nothing to apply: revision 1 is live and has all changes"
