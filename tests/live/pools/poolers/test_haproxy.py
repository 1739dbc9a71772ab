"""A real HAProxy before a real PostgreSQL and real PgBouncers: applied, read back, drifted, measured."""

import socket
from collections.abc import Iterator

import psycopg
import pytest

from panel.quickstart.servers import PgBouncerServer, free_port
from pools import deployment
from pools.deployment import drift
from pools.inventory import pooler_settings, poolers
from pools.inventory import pools as pool_changes
from pools.models import Cluster, Mode, Pool, Pooler, PoolState, RevisionState
from pools.poolers.haproxy import render, stats_socket
from tests.live.conftest import TestPgBouncer
from tests.live.haproxies import HAProxyServer
from tests.live.pools.conftest import state_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def app(haproxy_pooler: Pooler, cluster: Cluster) -> Pool:
    """An applied pool of the HAProxy that leads to the cluster's primary."""
    pool = _pool(haproxy_pooler, cluster)
    deployment.apply_pooler(haproxy_pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    return pool


def _pool(pooler: Pooler, cluster: Cluster, name: str = "app", **fields: object) -> Pool:
    values = {"database": "app", "user": "app", "mode": Mode.SESSION, "size": 100} | fields
    return Pool.objects.create(pooler=pooler, cluster=cluster, name=name, **values)


def _log_in(pooler: Pooler, pool: str = "app") -> psycopg.Connection:
    address = {"host": pooler.host, "port": pooler.port, "connect_timeout": 5}
    return psycopg.connect(dbname=pool, user="app", password="app-password", autocommit=True, **address)


def test_it_is_online_with_its_version_and_without_a_password(haproxy_pooler: Pooler) -> None:
    assert haproxy_pooler.state == "online"
    assert haproxy_pooler.server_version.startswith("HAProxy 2.")


def test_a_pool_is_live_after_an_apply_and_each_step_is_noted(app: Pool, haproxy_pooler: Pooler) -> None:
    with _log_in(haproxy_pooler) as session:
        assert session.execute(b"SELECT current_user").fetchone() == ("app",)
    steps = {step["step"]: step.get("detail", "") for step in haproxy_pooler.revisions.first().steps}
    assert "-c accepts the files" in steps["preflight passed"]
    assert "UP (L7OK)" in steps["health checks"]
    assert stats_socket.digest(haproxy_pooler)


def test_a_reload_drops_no_session(app: Pool, haproxy_pooler: Pooler) -> None:
    with _log_in(haproxy_pooler) as session:
        worker = stats_socket.info(haproxy_pooler)["Pid"]
        pooler_settings.change_settings(haproxy_pooler, {"maxconn": "50"})
        assert deployment.apply_pooler(haproxy_pooler).state == RevisionState.APPLIED
        assert stats_socket.info(haproxy_pooler)["Pid"] != worker
        assert session.execute(b"SELECT 1").fetchone() == (1,)
    haproxy_pooler.refresh_from_db()
    poolers.check(haproxy_pooler)
    app.refresh_from_db()
    assert app.size == 50


def test_a_file_that_haproxy_refuses_never_goes_live(app: Pool, haproxy: HAProxyServer, haproxy_pooler: Pooler) -> None:
    before = stats_socket.digest(haproxy_pooler)
    main = haproxy.config_dir / "haproxy.cfg"
    main.write_text(main.read_text().replace("maxconn 1000", "maxconn 1000\n    no-such-word 1"))
    pooler_settings.change_settings(haproxy_pooler, {"balance": "roundrobin"})
    revision = deployment.apply_pooler(haproxy_pooler)
    assert revision.state == RevisionState.ROLLED_BACK
    assert "unknown keyword 'no-such-word'" in revision.reason
    assert stats_socket.digest(haproxy_pooler) == before


def test_more_than_the_process_takes_is_refused_with_the_remedy(app: Pool, haproxy_pooler: Pooler) -> None:
    pooler_settings.change_settings(haproxy_pooler, {"maxconn": "1001"})
    revision = deployment.apply_pooler(haproxy_pooler)
    assert revision.state == RevisionState.ROLLED_BACK
    assert "use at most 1000" in revision.reason


def test_a_pool_whose_password_is_wrong_is_refused_and_the_others_stay(
    app: Pool, haproxy_pooler: Pooler, cluster: Cluster
) -> None:
    cluster.keep_password("nobody", "wrong")
    other = _pool(haproxy_pooler, cluster, "postgres", database="postgres", user="nobody")
    deployment.apply_pooler(haproxy_pooler)
    state, reason = state_of(other)
    assert state == PoolState.ROLLED_BACK
    assert "nobody" in reason
    assert state_of(app) == (PoolState.APPLIED, "")


def test_another_cluster_is_refused_at_the_form(app: Pool, haproxy_pooler: Pooler, cluster: Cluster) -> None:
    fields = {"pooler": haproxy_pooler, "cluster": cluster, "name": "x", "database": "app", "user": "app"}
    with pytest.raises(pool_changes.InvalidPool) as refused:
        pool_changes.create(fields | {"mode": "transaction", "size": 3})
    assert set(refused.value.errors) >= {"mode", "name", "size"}


def test_an_edit_of_the_panels_part_is_drift(app: Pool, haproxy: HAProxyServer, haproxy_pooler: Pooler) -> None:
    main = haproxy.config_dir / "haproxy.cfg"
    main.write_text(main.read_text().replace("balance leastconn", "balance roundrobin"))
    drift.check(haproxy_pooler)
    haproxy_pooler.refresh_from_db()
    assert [one["where"] for one in haproxy_pooler.drift] == ["haproxy.cfg"]


def test_the_first_apply_rolls_back_to_a_file_without_a_frontend(
    haproxy_pooler: Pooler, haproxy: HAProxyServer, cluster: Cluster
) -> None:
    with socket.create_server((haproxy.host, haproxy.port)):
        pool = _pool(haproxy_pooler, cluster)
        deployment.apply_pooler(haproxy_pooler)
        state, reason = state_of(pool)
    assert state == PoolState.ROLLED_BACK
    assert "did not start" in reason or "Address already in use" in reason
    assert render.digest_in((haproxy.config_dir / "haproxy.cfg").read_text()) == stats_socket.digest(haproxy_pooler)


@pytest.fixture
def second_pgbouncer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PgBouncerServer]:
    """Another PgBouncer."""
    with TestPgBouncer(tmp_path_factory.mktemp("second"), free_port(), "pooldeck", "console-password") as server:
        yield server


@pytest.fixture
def balanced(
    haproxy_pooler: Pooler, pooler: Pooler, second_pgbouncer: PgBouncerServer, cluster: Cluster
) -> tuple[Pool, Pooler]:
    """A transaction pool of the HAProxy over two PgBouncers that have it as well; and the second of them."""
    second = Pooler(
        name="second",
        host=second_pgbouncer.host,
        port=second_pgbouncer.port,
        config_dir=str(second_pgbouncer.config_dir),
    )
    second.admin_password = second_pgbouncer.admin_password
    second.save(force_insert=True)
    for one in (pooler, second):
        Pool.objects.create(pooler=one, cluster=cluster, name="orders", database="app", user="app", size=3)
        deployment.apply_pooler(one)
    servers = ", ".join(f"{one.host}:{one.port}" for one in (pooler, second))
    pooler_settings.change_settings(haproxy_pooler, {"servers": servers})
    haproxy_pooler.refresh_from_db()
    pool = _pool(haproxy_pooler, cluster, "orders", mode=Mode.TRANSACTION)
    deployment.apply_pooler(haproxy_pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    return pool, second


def test_sessions_are_spread_over_two_pgbouncers(balanced: tuple[Pool, Pooler], haproxy_pooler: Pooler) -> None:
    sessions = [_log_in(haproxy_pooler, "orders") for _ in range(6)]
    assert [session.execute(b"SELECT 1").fetchone() for session in sessions] == [(1,)] * 6
    rows = [row for row in stats_socket.show(haproxy_pooler, "stat") if "127.0.0.1:" in str(row["svname"])]
    assert [row["scur"] for row in rows] == ["3", "3"]
    sample = poolers.pool_figures(haproxy_pooler)["orders"]
    assert (sample.cl_active, sample.sv_active) == (6, 6)
    for session in sessions:
        session.close()


def test_the_check_of_postgresql_finds_pgbouncers_up_without_a_pool_of_its_users_name(
    balanced: tuple[Pool, Pooler], haproxy_pooler: Pooler
) -> None:
    """As in pgbouncer/pgbouncer#724: its start-up packet names no database, for which PgBouncer takes the user's."""
    assert haproxy_pooler.settings.get("check", "") in ("", "pgsql-check")
    rows = [row for row in stats_socket.show(haproxy_pooler, "stat") if "127.0.0.1:" in str(row["svname"])]
    assert [(row["status"], row["check_status"]) for row in rows] == [("UP", "L7OK")] * 2


WEB_TIER = """
defaults
    log global
    mode http
    option httplog
    option forwardfor
    option http-server-close
    option httpchk GET /health
    retries 3
    timeout connect 5s
    timeout client 30s
    timeout server 300s
    timeout http-keep-alive 30m
    compression algo gzip
    default-server inter 3s fall 3 rise 2
listen stats
    bind 127.0.0.1:@PORT@
    stats enable
    stats uri /
    stats auth ops:hidden
"""


def test_defaults_of_web_servers_are_not_inherited(
    haproxy_pooler: Pooler, haproxy: HAProxyServer, cluster: Cluster
) -> None:
    """As openSUSE's heroes-salt has them; what HAProxy warns of is no error."""
    main = haproxy.config_dir / "haproxy.cfg"
    main.write_text(main.read_text() + WEB_TIER.replace("@PORT@", str(free_port())))
    pool = _pool(haproxy_pooler, cluster)
    deployment.apply_pooler(haproxy_pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    with _log_in(haproxy_pooler) as session:
        assert session.execute(b"SELECT current_user").fetchone() == ("app",)
    [row] = [
        row for row in stats_socket.show(haproxy_pooler, "stat") if row["svname"] == "FRONTEND" and row["mode"] == "tcp"
    ]
    assert row["status"] == "OPEN"


def test_who_may_log_in_is_decided_behind_it(
    balanced: tuple[Pool, Pooler], haproxy_pooler: Pooler, pgbouncer: PgBouncerServer
) -> None:
    address = {"host": haproxy_pooler.host, "port": haproxy_pooler.port, "dbname": "orders"}
    with pytest.raises(psycopg.OperationalError, match="login rejected"):  # the rule of the PgBouncer
        psycopg.connect(**address, user=pgbouncer.admin_user, password=pgbouncer.admin_password)
    with _log_in(haproxy_pooler, "orders") as session:
        assert session.execute(b"SELECT current_user").fetchone() == ("app",)


def test_before_the_cluster_clients_work_as_themselves(app: Pool, haproxy_pooler: Pooler, cluster: Cluster) -> None:
    address = {"host": haproxy_pooler.host, "port": haproxy_pooler.port, "dbname": "app"}
    with psycopg.connect(**address, user=cluster.admin_user, password=cluster.admin_password) as session:
        assert session.execute(b"SELECT current_user").fetchone() == (cluster.admin_user,)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(**address, user=cluster.admin_user, password="app-password")


def test_a_pgbouncer_that_goes_away_is_left_out(
    balanced: tuple[Pool, Pooler], haproxy_pooler: Pooler, second_pgbouncer: PgBouncerServer
) -> None:
    second_pgbouncer.stop()
    for _ in range(4):
        with _log_in(haproxy_pooler, "orders") as session:
            assert session.execute(b"SELECT 1").fetchone() == (1,)
