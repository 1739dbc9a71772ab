"""Insights into real servers: connections, transactions, waits and memory."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from panel.quickstart.servers import PostgresServer, free_port
from pools.clusters import activity
from pools.clusters.activity import IdleMemory, Insights, Part
from pools.clusters.memory_budget import MB, Settings
from pools.clusters.process_memory import ProcessMemory, Why
from pools.errors import ClusterUnreachable
from pools.models import Cluster
from tests.live.standbys import registered, until
from tests.postgresqls import bindirs

pytestmark = pytest.mark.django_db(transaction=True)

SETTINGS = {
    "max_connections": "60",
    "shared_buffers": "64MB",
    "work_mem": "6MB",
    "temp_buffers": "9MB",
    "maintenance_work_mem": "70MB",
}


@pytest.fixture(scope="module", params=["15", "18"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A server with a role `app`, its database, and a role that may see nothing of the others."""
    home, bindir = tmp_path_factory.mktemp("insights"), bindirs()[request.param]
    with PostgresServer(home, free_port(), password="own-secret", bindir=bindir, settings=SETTINGS) as server:
        server.create_owner_and_database("app", "app-secret", "shop")
        with server.connect() as session:
            session.execute("CREATE ROLE looker LOGIN PASSWORD 'looker-secret'")
            session.execute("CREATE TABLE IF NOT EXISTS held (id int)")
        yield server


@pytest.fixture
def cluster(server: PostgresServer) -> Cluster:
    return registered(server)


def client(server: PostgresServer, application: str, database: str = "shop", role: str = "app") -> Any:
    password = server.password if role == server.superuser else "app-secret"
    address = {"host": server.host, "port": server.port, "connect_timeout": 5}
    login = {"dbname": database, "user": role, "password": password, "application_name": application}
    return psycopg.connect(**address, **login)


def seen(cluster: Cluster, connections: int) -> Insights:
    """A look, once the server counts this many: it takes a moment to see that a client is gone."""

    def snapshot() -> Insights | None:
        found = activity.of_cluster(cluster)
        return found if found.connections == connections else None

    return until(snapshot)


def test_connections_are_counted_by_state_database_role_and_application(
    cluster: Cluster, server: PostgresServer
) -> None:
    with ExitStack() as clients:
        for _ in range(3):
            clients.enter_context(client(server, "web"))
        clients.enter_context(client(server, "job")).execute("SELECT 1")
        clients.enter_context(client(server, "admin", "postgres", "postgres"))
        found = seen(cluster, 5)
    assert {total.state: total.connections for total in found.states} == {"idle in transaction": 1, "idle": 4}
    assert [(bar.name, bar.connections) for bar in found.by_database] == [("shop", 4), ("postgres", 1)]
    assert [(bar.name, bar.connections) for bar in found.by_role] == [("app", 4), ("postgres", 1)]
    assert [(bar.name, bar.connections) for bar in found.by_application] == [("web", 3), ("admin", 1), ("job", 1)]
    assert found.by_database[0].parts == (
        Part("idle in transaction", 1, 0.0, 25.0),
        Part("idle", 3, 25.0, 75.0),
    )
    assert found.sees_all


def test_many_names_are_counted_together(cluster: Cluster, server: PostgresServer) -> None:
    with ExitStack() as clients:
        for number in range(activity.NAMES_SHOWN + 3):
            clients.enter_context(client(server, f"app-{number:02}"))
        found = seen(cluster, activity.NAMES_SHOWN + 3)
    *shown, rest = found.by_application
    assert [bar.name for bar in shown] == [f"app-{number:02}" for number in range(activity.NAMES_SHOWN)]
    assert (rest.name, rest.others, rest.connections) == ("", 3, 3)


def test_the_longest_transactions_come_first_and_no_password_is_shown(cluster: Cluster, server: PostgresServer) -> None:
    with client(server, "old") as old, client(server, "young") as young:
        old.execute("SELECT 'first'")
        time.sleep(0.2)
        young.execute("SELECT 'PassWord of mine'")
        found = seen(cluster, 2)
    first, second = found.transactions
    assert (first["application"], first["role"], first["database"], first["state"], first["query"], first["text"]) == (
        "old",
        "app",
        "shop",
        "idle in transaction",
        "SELECT $1",
        "SELECT 'first'",
    )
    assert first["transaction_s"] > second["transaction_s"] + 0.1
    assert second["query"] == second["text"] == "(not shown: it mentions a password)"


def test_waits_are_grouped(cluster: Cluster, server: PostgresServer) -> None:
    with ExitStack() as sessions:
        holder = sessions.enter_context(server.connect())
        waiting = [sessions.enter_context(server.connect()) for _ in range(3)]
        holder.execute("BEGIN")
        holder.execute("LOCK TABLE held")
        for session in waiting:
            session.pgconn.send_query(b"SELECT count(*) FROM held")
        found = until(lambda: [one for one in activity.of_cluster(cluster).waits if one["type"] == "Lock"])
        holder.execute("ROLLBACK")
        for session in waiting:
            until(lambda session=session: session.pgconn.consume_input() or not session.pgconn.is_busy())
            while session.pgconn.get_result():
                pass
    assert found == [{"type": "Lock", "event": "relation", "sessions": 3}]


def test_idle_connections_are_measured_where_they_run_here(cluster: Cluster, server: PostgresServer) -> None:
    with ExitStack() as clients:
        for _ in range(4):
            clients.enter_context(client(server, "web"))
        found = seen(cluster, 4).idle
    assert isinstance(found.measured, ProcessMemory), found.why_not
    assert (found.connections, found.measured.processes, found.why_not) == (4, 4, None)
    assert 0.5 * MB < found.measured.own < 20 * MB
    assert found.measured.own < found.measured.proportional < 40 * MB
    assert found.total == (4 * found.measured.own,) * 2


def test_a_process_of_that_number_that_is_another_is_not_taken_for_the_servers(
    cluster: Cluster, server: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("pools.clusters.process_memory.PROC", tmp_path)
    with client(server, "web"):
        found = seen(cluster, 1)
    assert found.idle == IdleMemory(1, None, Why.ELSEWHERE)
    assert found.idle.total == (1 * MB, 18 * MB)
    assert (found.memory.memory, found.memory.fits) == (None, None)


def test_the_budget_is_made_of_the_servers_real_settings(cluster: Cluster, server: PostgresServer) -> None:
    cluster.memory_mb = 1024
    with server.connect() as session:
        session.execute("ALTER ROLE app SET work_mem = '1GB'")
        try:
            found = activity.of_cluster(cluster)
        finally:
            session.execute("ALTER ROLE app RESET work_mem")
    assert found.memory.settings == Settings(60, 6 * MB, 64 * MB, 9 * MB, 70 * MB)
    assert (found.memory.memory, found.memory.source) == (1024 * MB, "as stated for the cluster")
    assert found.own_settings == [{"database": None, "role": "app", "setting": "work_mem=1GB"}]


def test_the_memory_of_this_host_counts_where_none_is_stated(cluster: Cluster) -> None:
    total = int(Path("/proc/meminfo").read_text().split()[1]) * 1024
    found = activity.of_cluster(cluster).memory
    assert (found.memory, found.source) == (total, "read from this host, where the server runs")


def test_a_role_without_pg_monitor_is_told_so(cluster: Cluster, server: PostgresServer) -> None:
    cluster.admin_user = "looker"
    cluster.admin_password = "looker-secret"
    with client(server, "web") as session:
        session.execute("SELECT 1")
        found = seen(cluster, 1)
        assert not found.sees_all
        assert [(total.state, total.connections) for total in found.states] == [("hidden", 1)]
        assert [(bar.name, bar.connections) for bar in found.by_role] == [("app", 1)]
        assert found.transactions == []
        assert found.idle == IdleMemory(0, None, Why.HIDDEN)
        with server.connect() as superuser:
            superuser.execute("GRANT pg_monitor TO looker")
            try:
                found = until(lambda: (one := activity.of_cluster(cluster)).sees_all and one)
            finally:
                superuser.execute("REVOKE pg_monitor FROM looker")
    assert "idle in transaction" in [total.state for total in found.states]


def test_a_server_that_is_down_is_said_to_be(server: PostgresServer) -> None:
    cluster = Cluster(name="gone", host="127.0.0.1", port=1, admin_user="postgres", sslmode="disable")
    cluster.save(force_insert=True)
    with pytest.raises(ClusterUnreachable, match="connection refused"):
        activity.of_cluster(cluster)
