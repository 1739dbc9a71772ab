"""PgBouncers that share a port on a host by SSH are one pooler: each is asked over its own socket there."""

from collections.abc import Iterator

import psycopg
import pytest

from panel.quickstart.servers import PostgresServer
from pools import deployment
from pools.console import commands
from pools.deployment import drift
from pools.hosts import kept, keys
from pools.hosts.ssh import SshConnection
from pools.inventory import poolers, pools
from pools.models import Cluster, Host, Pool, Pooler, PoolState
from pools.poolers import KINDS, local_process
from pools.poolers.pgbouncer import process_search
from tests.live.pools.conftest import state_of
from tests.live.pools.deployment.by_ssh.test_by_ssh import taken_over
from tests.live.pools.deployment.take_over.conftest import CONSOLE, OperatorsPgBouncer, log_in
from tests.live.pools.deployment.take_over.test_processes import Second, beside, layout
from tests.live.pools.hosts.conftest import reachable
from tests.live.sshds import SshServer

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ["pgbouncer-2.ini", "pgbouncer.ini"]


@pytest.fixture
def own(server: PostgresServer, program: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[OperatorsPgBouncer]:
    """The process of the first main file; no process of this host counts as one of the other's."""

    def forbidden(*_: object) -> None:
        raise AssertionError("a process of this host was looked for")

    for name in ("sharing", "peer_of", "socket_folders"):
        monkeypatch.setattr(local_process, name, forbidden)
    words = {"@PGHOST@": server.host, "@PGPORT@": str(server.port), "@SOCKETS@": str(server.socket_folder)}
    with reachable() as home, OperatorsPgBouncer(home, layout(), program, words) as started:
        yield started


@pytest.fixture
def second(own: OperatorsPgBouncer) -> Iterator[Second]:
    """The process of the second."""
    with beside(own) as started:
        yield started


@pytest.fixture
def shared(second: Second, watched: Pooler) -> Pool:
    """A pool that was an entry of both."""
    assert taken_over(watched).reason == ""
    return Pool.objects.get(name="app")


def search_is_needless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody try the port until each process has answered."""

    def forbidden(*_: object) -> None:
        raise AssertionError("the processes were searched for")

    monkeypatch.setattr(process_search, "others", forbidden)


def test_each_is_taken_over_applied_to_and_asked_over_its_own_socket(
    own: OperatorsPgBouncer,
    second: Second,
    watched: Pooler,
    cluster: Cluster,
    host: Host,
    sshd: SshServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert [one["pid"] for one in watched.processes] == [None, None]  # The line does not name their sockets yet.
    host.refresh_from_db()
    sshd.let_in(keys.authorized_keys_line(host))
    search_is_needless(monkeypatch)
    assert poolers.check(watched) == ""
    watched.refresh_from_db()
    rows = {one["name"]: (one["pid"], one["socket"], one["state"]) for one in watched.processes}
    assert rows == {
        "pgbouncer.ini": (own.process.pid, f"{own.config_dir}/s1", "online"),
        "pgbouncer-2.ini": (second.process.pid, f"{own.config_dir}/s2", "online"),
    }
    assert taken_over(watched).reason == ""
    pool = Pool.objects.get(name="app")
    pools.change(pool, {"size": 7}, pool.version)
    deployment.apply_pooler(watched)
    assert state_of(pool) == (PoolState.APPLIED, "")
    for number in (1, 2):
        assert sizes_at(own, number)["app"] == "7"
    sample = KINDS[watched.kind].sample(watched)
    assert {one.name: one.pid for one in sample.processes} == {name: row[0] for name, row in rows.items()}
    assert {log_in(own, "app") for _number in range(24)} == {"app"}
    drift.check(watched)
    watched.refresh_from_db()
    assert watched.drift == []


def sizes_at(own: OperatorsPgBouncer, number: int) -> dict[str, str]:
    """The sizes of the entries of one process."""
    at = {"host": f"{own.config_dir}/s{number}", "port": own.port, "dbname": "pgbouncer"}
    with psycopg.connect(**at, user=CONSOLE[0], password=CONSOLE[1], autocommit=True) as console:
        cursor = console.execute(b"SHOW DATABASES")
        names = [column.name for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
    return {row["name"]: str(row["pool_size"]) for row in rows}


@pytest.mark.usefixtures("cluster", "second")
def test_a_folder_that_the_account_may_not_list_hides_main_files_alone(
    own: OperatorsPgBouncer, watched: Pooler
) -> None:
    own.config_dir.chmod(0o311)
    try:
        assert poolers.check(watched) == ""
    finally:
        own.config_dir.chmod(0o700)
    watched.refresh_from_db()
    assert [one["name"] for one in watched.processes] == NAMES


@pytest.mark.usefixtures("cluster")
def test_verbs_reach_both_and_nothing_is_applied_while_one_is_down(
    own: OperatorsPgBouncer, second: Second, shared: Pool
) -> None:
    pooler = shared.pooler
    outcome = commands.pause(shared, deadline_s=5, hold_s=60)
    assert outcome.detail.endswith(f"Each process that shares the port did so: {', '.join(NAMES)}.")
    commands.resume(shared)
    second.stop()
    poolers.check(pooler)
    assert pooler.silent_processes == ["pgbouncer-2.ini"]
    pools.change(shared, {"size": 8}, shared.version)
    deployment.apply_pooler(pooler)
    state, reason = state_of(shared)
    assert (state, f"the one of {own.config_dir}/pgbouncer-2.ini" in reason) == (PoolState.PENDING, True)
    second.start()
    assert poolers.check(pooler) == ""
    deployment.apply_pooler(pooler)
    assert state_of(shared) == (PoolState.APPLIED, "")
    assert {sizes_at(own, number)["app"] for number in (1, 2)} == {"8"}


@pytest.mark.usefixtures("cluster")
def test_where_tunnels_to_sockets_are_forbidden_each_is_found_by_the_port(
    second: Second, watched: Pooler, sshd: SshServer
) -> None:
    sshd.stop()
    config = sshd.home / "sshd_config"
    config.write_text(f"{config.read_text()}AllowStreamLocalForwarding no\n")
    sshd.prepare = lambda: None
    sshd.start()
    assert poolers.check(watched) == ""
    watched.refresh_from_db()
    assert [(one["name"], one["pid"]) for one in watched.processes] == [(name, None) for name in NAMES]
    assert [one.name for one in KINDS[watched.kind].sample(watched).processes] == NAMES


@pytest.mark.usefixtures("cluster")
def test_a_console_on_a_socket_alone_is_reached_through_the_tunnel(
    own: OperatorsPgBouncer, watched: Pooler, host: Host, sshd: SshServer
) -> None:
    folder = f"{own.config_dir}/s1"
    own.prepare = lambda: None
    text = own.main.read_text().replace("listen_addr = 127.0.0.1", "listen_addr =")
    own.main.write_text(text.replace("so_reuseport = 1", "so_reuseport = 0"))
    own.stop()
    own.probe = lambda: sizes_at(own, 1)
    own.start()
    assert "does not answer at 127.0.0.1 port" in poolers.check(watched)
    assert "of host db-1: Connection refused" in watched.error
    _pooler, problem = poolers.change(watched, {"host": folder, "admin_password": CONSOLE[1]})
    assert f"lets no tunnel of the panel's lead to {folder}/.s.PGSQL.{own.port}: find the poolers" in problem
    sshd.let_in(keys.authorized_keys_line(host))
    assert poolers.check(watched) == ""
    own.stop()
    assert f"at {folder}/.s.PGSQL.{own.port} of host db-1: " in poolers.check(watched)
    assert "No such file or directory" in watched.error


def test_a_port_that_the_line_does_not_open_names_the_line_and_one_that_it_opens_is_used_at_once(
    own: OperatorsPgBouncer, watched: Pooler, host: Host, sshd: SshServer, cluster: Cluster
) -> None:
    host.refresh_from_db()
    line = keys.authorized_keys_line(host)
    sshd.let_in(line.replace(f":{own.port}", ":1"))
    kept.close_all()
    said = poolers.check(watched)
    assert f"host db-1 lets no tunnel of the panel's lead to 127.0.0.1 port {own.port}: find the poolers" in said
    with kept.connected(host) as before:
        assert isinstance(before, SshConnection)
        sshd.let_in(line)
        assert poolers.check(watched) == ""  # The first check succeeds.
        assert before.run(["echo", "there"]).stdout == b"there\n"  # what is at work keeps its login
