"""A Pgpool-II and an HAProxy are applied to by SSH: tried, written, reloaded and read back on their own host."""

from collections.abc import Iterator

import psycopg
import pytest

from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PostgresServer, free_port
from pools import deployment
from pools.config_files import deliveries
from pools.deployment import drift, live_files
from pools.errors import PoolerUnreachable
from pools.hosts import kept, keys
from pools.inventory import hosts, pooler_settings, poolers
from pools.models import Cluster, Host, Mode, Pool, Pooler, PoolerKind, PoolState, RevisionState
from pools.poolers import driver, local_process
from pools.poolers.pgpool import pcp
from tests.live.conftest import APP_PASSWORD, APP_ROLE
from tests.live.haproxies import HAProxyServer
from tests.live.pools.conftest import state_of
from tests.live.pools.hosts.conftest import reachable
from tests.live.sshds import CuttingProxy, SshServer

pytestmark = pytest.mark.django_db(transaction=True)
CHILDREN = 8


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is started and no process looked at but by SSH."""

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("this host was used")

    for name in ("run", "hand_over", "listens"):
        monkeypatch.setattr(local_process, name, forbidden)


@pytest.fixture
def known(cluster: Cluster) -> Cluster:
    """The cluster, with the password of `app`."""
    cluster.keep_password(APP_ROLE, APP_PASSWORD)
    return cluster


@pytest.fixture
def pgpool(server: PostgresServer, host: Host, sshd: SshServer) -> Iterator[tuple[PgpoolServer, Pooler]]:
    """A Pgpool-II on the host, and its record."""
    passwords = {server.superuser: server.password}
    with reachable() as home, PgpoolServer(home, free_port(), free_port(), server, passwords) as started:
        started.children = CHILDREN
        address = {"host": started.host, "port": started.port, "pcp_port": started.pcp_port}
        login = {"admin_user": server.superuser, "admin_password": server.password}
        values = {**address, **login, "kind": PoolerKind.PGPOOL, "config_dir": str(started.config_dir)}
        yield started, registered(values, host, sshd)


@pytest.fixture
def haproxy(host: Host, sshd: SshServer) -> Iterator[tuple[HAProxyServer, Pooler]]:
    """An HAProxy on the host, and its record."""
    with reachable() as home, HAProxyServer(home, free_port()) as started:
        address = {"host": started.host, "port": started.port, "config_dir": str(started.config_dir)}
        yield started, registered({**address, "kind": PoolerKind.HAPROXY}, host, sshd)


def registered(values: dict[str, object], host: Host, sshd: SshServer) -> Pooler:
    """Register it and put the host's new line in place of the old one."""
    hosts.discover(host)  # the line names the sockets of what was found
    pooler, _problem = poolers.register({"name": "edge", "delivery": "ssh", "ssh_host": host, **values})
    sshd.let_in(keys.authorized_keys_line(host))
    assert poolers.check(pooler) == ""
    pooler.refresh_from_db()
    return pooler


def ask_pool(pooler: Pooler, cluster: Cluster, size: int) -> Pool:
    values = {"name": "app", "database": "app", "user": APP_ROLE, "mode": Mode.SESSION, "size": size}
    return Pool.objects.create(pooler=pooler, cluster=cluster, **values)


def log_in(pooler: Pooler) -> str:
    address = {"host": pooler.host, "port": pooler.port, "dbname": "app", "user": APP_ROLE, "password": APP_PASSWORD}
    with psycopg.connect(**address, connect_timeout=5, autocommit=True) as session:
        return str(session.execute("SELECT current_user").fetchone()[0])


def applied(pooler: Pooler) -> str:
    """Apply; return what its steps say."""
    revision = deployment.apply_pooler(pooler)
    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    drift.check(pooler)
    pooler.refresh_from_db()
    assert (pooler.drift, live_files.live_files(pooler)["state"]) == ([], "in sync")
    return "; ".join(f"{one['step']} {one['detail']}" for one in revision.steps)


def test_a_pgpool_is_applied_to(pgpool: tuple[PgpoolServer, Pooler], known: Cluster) -> None:
    server, pooler = pgpool
    pool = ask_pool(pooler, known, pooler.facts["num_init_children"])
    assert "a trial instance started on the files" in applied(pooler)
    assert (state_of(pool), log_in(pooler)) == ((PoolState.APPLIED, ""), APP_ROLE)
    before = (server.config_dir / "pgpool.conf").read_bytes()
    main = server.config_dir / "pgpool.conf"
    main.write_text(main.read_text().replace("max_pool = 1", "max_pool = one"))
    pooler_settings.change_settings(pooler, {"child_life_time": "100"})
    refused = deployment.apply_pooler(pooler)
    assert (refused.state, "would not start on these files" in refused.reason) == (RevisionState.ROLLED_BACK, True)
    assert main.read_bytes() == before.replace(b"max_pool = 1", b"max_pool = one")


def test_an_haproxy_is_applied_to(haproxy: tuple[HAProxyServer, Pooler], known: Cluster) -> None:
    server, pooler = haproxy
    assert pooler.server_version.startswith("HAProxy 2.")
    pool = ask_pool(pooler, known, 100)
    steps = applied(pooler)
    assert ("-c accepts the files" in steps, "UP (L7OK)" in steps) == (True, True)
    assert (state_of(pool), log_in(pooler)) == ((PoolState.APPLIED, ""), APP_ROLE)
    main = server.config_dir / "haproxy.cfg"
    main.write_text(main.read_text().replace("maxconn 1000", "maxconn 1000\n    no-such-word 1"))
    pooler_settings.change_settings(pooler, {"balance": "roundrobin"})
    refused = deployment.apply_pooler(pooler)
    assert refused.state == RevisionState.ROLLED_BACK
    assert "unknown keyword 'no-such-word'" in refused.reason


@pytest.mark.parametrize("kind", ["pgpool", "haproxy"])
def test_a_connection_cut_after_the_write_is_made_anew_or_the_apply_follows(
    kind: str, request: pytest.FixtureRequest, known: Cluster, proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    _server, pooler = request.getfixturevalue(kind)
    pool = ask_pool(pooler, known, pooler.facts.get("num_init_children", 100))
    delivery = deliveries.of(pooler)
    usual = delivery.replace
    cuts = []

    def replace(*args: object) -> None:
        usual(*args)
        if not cuts:
            cuts.append(proxy.cut())

    monkeypatch.setattr(delivery, "replace", replace)
    cut = deployment.apply_pooler(pooler)
    assert cuts == [None]
    if cut is None or cut.state != RevisionState.APPLIED:
        assert state_of(pool)[0] == PoolState.PENDING
        applied(pooler)
    assert (state_of(pool), log_in(pooler)) == ((PoolState.APPLIED, ""), APP_ROLE)
    assert live_files.live_files(pooler)["state"] == "in sync"


def shut(sshd: SshServer, line: str, port: int) -> None:
    """Have the next login open no tunnel to a port."""
    sshd.let_in(line.replace(f':{port}"', ':1"'))
    kept.close_all()


def test_a_control_port_that_the_line_opens_since_is_reached_at_once(
    pgpool: tuple[PgpoolServer, Pooler], host: Host, sshd: SshServer
) -> None:
    server, pooler = pgpool
    line = keys.authorized_keys_line(host)
    shut(sshd, line, server.pcp_port)
    with pytest.raises(
        PoolerUnreachable, match=f"no tunnel of the panel's lead to {server.host} port {server.pcp_port}"
    ):
        pcp.log_in(pooler)
    sshd.let_in(line)
    # No apply has been made yet.
    with pytest.raises(PoolerUnreachable, match="refused postgres: authentication failed"):
        pcp.log_in(pooler)


def test_a_port_of_clients_that_the_line_opens_since_is_reached_at_once(
    haproxy: tuple[HAProxyServer, Pooler], known: Cluster, host: Host, sshd: SshServer
) -> None:
    server, pooler = haproxy
    pool, line = ask_pool(pooler, known, 100), keys.authorized_keys_line(host)
    shut(sshd, line, server.port)
    refused = deployment.apply_pooler(pooler)
    assert f"lets no tunnel of the panel's lead to {server.host} port {server.port}" in refused.reason
    with pytest.raises(PoolerUnreachable, match="lets no tunnel"):
        driver(pooler).probe(pool, APP_ROLE, APP_PASSWORD)
    sshd.let_in(line)
    Pool.objects.update(state=PoolState.PENDING)
    applied(pooler)
    shut(sshd, line, server.port)
    with kept.connected(host):
        sshd.let_in(line)
    driver(pooler).probe(pool, APP_ROLE, APP_PASSWORD)


def test_a_pgpool_is_found_by_the_port_of_its_clients_and_not_by_its_control_port(
    pgpool: tuple[PgpoolServer, Pooler], host: Host
) -> None:
    server, pooler = pgpool
    [found] = [one for one in hosts.discover(host) if server.port in one["ports"]]
    assert (found["kind"], found["ports"]) == ("pgpool", [pooler.port, pooler.pcp_port])
    assert found["version"].startswith("pgpool-II version ")
