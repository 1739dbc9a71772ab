"""Nodes of a cluster on real streaming standbys, with their lag, and through a failover."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest

from panel.quickstart.servers import PostgresServer, free_port
from pools.clusters import connect as pg_connect
from pools.clusters import endpoints, health_check, nodes, topology
from pools.errors import ClusterUnreachable
from pools.models import Cluster, ClusterNode, ClusterState, ClusterStatus, NodeRole, Pool, PoolState
from tests.live.conftest import FAST
from tests.live.standbys import StandbyServer, registered, typed, until
from tests.pools.records import a_pool
from tests.postgresqls import bindirs

pytestmark = pytest.mark.django_db(transaction=True)

StartStandby = Callable[..., StandbyServer]


@pytest.fixture(params=[pytest.param("15", marks=pytest.mark.slow), "18"])
def leader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A primary of the test's own, of the oldest and of the newest version at hand."""
    home, bindir = tmp_path_factory.mktemp("leader"), bindirs()[request.param]
    with PostgresServer(home, free_port(), password="own-secret", bindir=bindir, settings=FAST) as server:
        yield server


@pytest.fixture
def start_standby(leader: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartStandby]:
    """Starts standbys of the leader; they end with the test."""
    with ExitStack() as started:

        def start() -> StandbyServer:
            server = StandbyServer(tmp_path_factory.mktemp("standby"), free_port(), leader)
            started.callback(lambda: (server.kill(signal.SIGCONT), server.stop()))
            server.start()
            return server.wait_until_streaming()

        yield start


@pytest.fixture
def cluster(leader: PostgresServer) -> Cluster:
    """The leader, registered and checked."""
    cluster = registered(leader)
    health_check.check_cluster(cluster)
    return cluster


def write(server: PostgresServer, rows: int = 20_000) -> None:
    """A few megabytes of WAL."""
    with server.connect() as session:
        session.execute("CREATE TABLE IF NOT EXISTS ballast (words text)")
        session.execute("INSERT INTO ballast SELECT repeat('x', 200) FROM generate_series(1, %s)", [rows])


def address(server: PostgresServer) -> tuple[str, int]:
    return server.host, server.port


def behind(leader: PostgresServer) -> int:
    """How far its only standby is behind, in bytes; the WAL of an asynchronous commit grows for a moment yet."""
    with leader.connect() as session:
        found = session.execute("SELECT (pg_current_wal_lsn() - replay_lsn)::bigint FROM pg_stat_replication")
        return int(found.fetchone()[0])


def test_a_standby_is_found_out_and_its_lag_is_measured(
    cluster: Cluster, leader: PostgresServer, start_standby: StartStandby
) -> None:
    standby = start_standby()
    node = nodes.add(cluster, typed(standby))
    assert (node.state, node.error, node.in_recovery, node.streaming) == (ClusterState.ONLINE, "", True, True)
    assert nodes.addresses(cluster, NodeRole.PRIMARY) == [address(leader)]
    assert nodes.addresses(cluster, NodeRole.STANDBY) == [address(standby)]
    write(leader, rows=1)
    with standby.connect() as session:  # A standby knows no age before it has replayed a commit.
        until(lambda: session.execute("SELECT pg_last_xact_replay_timestamp() IS NOT NULL").fetchone()[0])
    standby.catch_up()
    nodes.check(node)
    assert (node.lag_bytes, node.lag_s) == (0, 0.0)
    with standby.connect() as session:
        session.execute("SELECT pg_wal_replay_pause()")
        until(lambda: session.execute("SELECT pg_get_wal_replay_pause_state() = 'paused'").fetchone()[0])
        write(leader)
        until(lambda: nodes.check(node).lag_bytes == behind(leader) > 4_000_000)
        assert node.lag_s > 0
        until(lambda: health_check.check_cluster(cluster).replication[0]["unreplayed_bytes"] == behind(leader))
        (receiver,) = cluster.status.replication
        assert (receiver["state"], receiver["sync_state"], receiver["unsent_bytes"]) == ("streaming", "async", 0)
        session.execute("SELECT pg_wal_replay_resume()")
    standby.catch_up()
    assert until(lambda: nodes.check(node).lag_bytes == 0)


def test_a_standby_that_is_cut_off_is_measured_against_the_primary(
    cluster: Cluster, leader: PostgresServer, start_standby: StartStandby
) -> None:
    standby = start_standby()
    node = nodes.add(cluster, typed(standby))
    write(leader, rows=1)
    with standby.connect() as session:
        until(lambda: session.execute("SELECT pg_last_xact_replay_timestamp() IS NOT NULL").fetchone()[0])
    with standby.connect() as session:
        session.execute("ALTER SYSTEM SET primary_conninfo = ''")
        session.execute("SELECT pg_reload_conf()")
        until(lambda: not session.execute("SELECT count(*) FROM pg_stat_wal_receiver").fetchone()[0])
    write(leader)
    health_check.check_cluster(cluster)
    node.refresh_from_db()
    assert (node.state, node.streaming) == (ClusterState.ONLINE, False)
    assert node.lag_bytes > 4_000_000
    assert node.lag_s > 0


def test_pools_and_the_panel_follow_a_failover(
    cluster: Cluster, leader: PostgresServer, start_standby: StartStandby
) -> None:
    standby = start_standby()
    node = nodes.add(cluster, typed(standby))
    pool = a_pool(cluster=cluster, database="postgres", user="postgres", state=PoolState.APPLIED)
    reading = a_pool(cluster=cluster, target=NodeRole.STANDBY, state=PoolState.APPLIED)
    standby.catch_up()
    leader.kill()
    until(lambda: not leader.is_running)
    standby.promote()
    health_check.check_cluster(cluster)
    assert nodes.addresses(cluster, NodeRole.PRIMARY) == [address(standby)]
    assert nodes.addresses(cluster, NodeRole.STANDBY) == []
    reason = f"the primary moved from {leader.host}:{leader.port} to {standby.host}:{standby.port}"
    for one in (pool, reading):
        one.refresh_from_db()
        assert (one.state, one.state_reason) == (PoolState.PENDING, reason)
    with pg_connect.connect(cluster) as session:
        session.execute("CREATE DATABASE made_after_the_failover")
    status = health_check.check_cluster(cluster)
    assert (status.state, status.in_recovery) == (ClusterState.UNREACHABLE, False)
    assert "made_after_the_failover" in [one["name"] for one in status.databases]
    node.refresh_from_db()
    assert node.timeline == 2


def test_an_old_primary_that_comes_back_is_not_written_to(
    cluster: Cluster, leader: PostgresServer, start_standby: StartStandby
) -> None:
    standby = start_standby()
    nodes.add(cluster, typed(standby))
    standby.catch_up()
    leader.kill()
    until(lambda: not leader.is_running)
    standby.promote()
    health_check.check_cluster(cluster)
    pool = a_pool(cluster=cluster, state=PoolState.APPLIED)
    leader.start()
    status = health_check.check_cluster(cluster)
    assert (status.state, status.in_recovery, status.timeline) == (ClusterState.ONLINE, False, 1)
    assert endpoints.of_cluster(cluster).port == standby.port
    assert [str(place) for place in topology.other_primaries(cluster)] == [f"{leader.host}:{leader.port}"]
    standby.stop()
    health_check.check_cluster(cluster)
    assert endpoints.of_cluster(cluster).port == standby.port
    assert Pool.objects.get(pk=pool.pk).state == PoolState.APPLIED


def test_a_server_of_another_system_is_refused(cluster: Cluster, postgres: PostgresServer) -> None:
    values = {"host": postgres.host, "port": postgres.port, "admin_password": cluster.admin_password}
    with postgres.connect() as session:
        session.execute("ALTER ROLE postgres PASSWORD 'own-secret'")
        try:
            with pytest.raises(nodes.InvalidNode, match="belongs to another system") as refused:
                nodes.add(cluster, values)
        finally:
            session.execute(f"ALTER ROLE postgres PASSWORD '{postgres.password}'")
    assert list(refused.value.errors) == ["host"]
    assert not ClusterNode.objects.exists()


def test_a_node_whose_place_another_system_took_is_nobodys_standby(
    cluster: Cluster, postgres: PostgresServer, start_standby: StartStandby
) -> None:
    node = nodes.add(cluster, typed(start_standby()))
    ClusterStatus.objects.filter(cluster=cluster).update(system_identifier="1")
    node = ClusterNode.objects.get(pk=node.pk)
    nodes.check(node)
    assert (node.state, node.in_recovery) == (ClusterState.UNREACHABLE, None)
    assert "belongs to another system" in node.error
    assert nodes.addresses(Cluster.objects.get(), NodeRole.STANDBY) == []


def test_a_role_without_pg_monitor_finds_out_the_role_and_the_lag(
    cluster: Cluster, leader: PostgresServer, start_standby: StartStandby
) -> None:
    with leader.connect() as session:
        session.execute("CREATE ROLE looker LOGIN PASSWORD 'looker-secret'")
    standby = start_standby()
    standby.catch_up()
    cluster.admin_user, cluster.admin_password = "looker", "looker-secret"
    cluster.admin_password = "looker-secret"
    cluster.save()
    node = nodes.add(cluster, typed(standby, admin_password="looker-secret"))
    assert (node.in_recovery, node.streaming, node.lag_bytes) == (True, True, 0)
    assert health_check.check_cluster(cluster).replication[0]["state"] is None


def test_a_node_that_does_not_answer_is_not_taken(cluster: Cluster) -> None:
    with pytest.raises(ClusterUnreachable, match="connection refused"):
        nodes.add(cluster, {"host": "127.0.0.1", "port": 1, "admin_password": cluster.admin_password})
    assert not ClusterNode.objects.exists()


def test_the_panel_leaves_no_connection_on_a_node(cluster: Cluster, start_standby: StartStandby) -> None:
    standby = start_standby()
    node = nodes.add(cluster, typed(standby))
    nodes.check(node)
    with standby.connect() as session:
        left = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        assert until(lambda: session.execute(left).fetchone() == (0,))


def test_a_connection_can_be_had_of_each_role(
    cluster: Cluster, leader: PostgresServer, start_standby: StartStandby
) -> None:
    standby = start_standby()
    nodes.add(cluster, typed(standby))
    with (
        pg_connect.connect_endpoint(endpoints.of_cluster(cluster, role=NodeRole.STANDBY)) as session,
        pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
    ):
        session.execute("CREATE TABLE refused ()")
