"""What the releases of PgBouncer can and can't do, each tried on the program."""

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

from panel.quickstart.servers import PgBouncerServer, PostgresServer, free_port
from pools import deployment
from pools.models import Cluster, ClusterNode, Pooler, PoolState
from pools.poolers import settings_schema
from pools.poolers.pgbouncer.settings_catalog import CATALOG
from pools.poolers.settings_schema import Scope, Version
from tests.live.pools.conftest import LogIn, MakePool
from tests.live.standbys import StandbyServer, until

pytestmark = pytest.mark.django_db(transaction=True)


def test_prepared_statements_outlive_a_transaction_since_1_21(
    pooler: Pooler, make_pool: MakePool, version: Version
) -> None:
    make_pool(size=2)
    if version >= (1, 21):
        pooler.edit(None, settings={"max_prepared_statements": 10}, settings_state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    address = {"host": pooler.host, "port": pooler.port, "dbname": "orders", "user": "app", "password": "app-password"}
    with psycopg.connect(autocommit=True, **address) as one, psycopg.connect(**address) as other:
        one.execute("SELECT 1", prepare=True)
        other.execute("SELECT 2")  # takes the server that knows the statement
        if version >= (1, 21):
            assert one.execute("SELECT 1", prepare=True).fetchone() == (1,)
        else:
            with pytest.raises(psycopg.errors.InvalidSqlStatementName):
                one.execute("SELECT 1", prepare=True)


def test_a_release_is_given_no_setting_that_it_does_not_know(
    pooler: Pooler, make_pool: MakePool, pgbouncer: PgBouncerServer, version: Version
) -> None:
    newer = {"max_prepared_statements": 10, "transaction_timeout": 5}
    unknown = [name for name, _ in settings_schema.problems(CATALOG, Scope.PROGRAM, newer, version)]
    pooler.edit(None, settings=newer, settings_state=PoolState.PENDING)
    make_pool(settings={"query_wait_timeout": 3})
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert pooler.settings_state == (PoolState.ROLLED_BACK if unknown else PoolState.APPLIED)
    assert all(name in pooler.settings_reason for name in unknown)
    written = "".join(path.read_text() for path in pgbouncer.config_dir.iterdir())
    asked = [*newer, "query_wait_timeout"]
    assert [name for name in asked if name in written] == ([] if unknown else asked)


def test_every_program_setting_offered_to_a_release_is_one_it_shows(
    pgbouncer: PgBouncerServer, version: Version
) -> None:
    with pgbouncer.connect() as console:
        live = {row[0] for row in console.execute(b"SHOW CONFIG")}
    assert {setting.name for setting in settings_schema.shown(CATALOG, Scope.PROGRAM, version)} == live


def test_a_pool_leads_to_the_standbys(
    pooler: Pooler, make_pool: MakePool, cluster: Cluster, log_in: LogIn, pgbouncer: PgBouncerServer
) -> None:
    cluster.nodes.model.objects.all().delete()
    pool = make_pool(target="standby")
    deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, "has none in recovery" in pool.state_reason) == (PoolState.ROLLED_BACK, True)
    password, cluster.host = cluster.admin_password, "localhost"
    cluster.admin_password = password
    cluster.save()
    for host, port in (("127.0.0.1", cluster.port), ("127.0.0.2", cluster.port + 1)):
        node = ClusterNode.objects.create(cluster=cluster, host=host, port=port)
        node.record(in_recovery=True, state="online")
    pool.edit(None, state=PoolState.PENDING)
    revision = deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
    assert log_in("orders") == "app"
    entry = (pgbouncer.config_dir / "pooldeck.ini").read_text()
    assert f"host='127.0.0.1' port={cluster.port} " in entry
    notes = [step["detail"] for step in revision.steps if step["step"] == "noted"]
    assert notes == [f"127.0.0.2:{cluster.port + 1} of live left out: an entry has one port, here {cluster.port}"]


@pytest.fixture(scope="module")
def standbys(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[StandbyServer]]:
    """Two that follow `postgres`, on one port of two addresses, as an entry of a PgBouncer needs them."""
    port = free_port()
    with ExitStack() as stack:
        made = []
        for host in ("127.0.0.1", "127.0.0.2"):
            server = StandbyServer(tmp_path_factory.mktemp("standby"), port, postgres)
            server.host = host
            made.append(stack.enter_context(server).wait_until_streaming())
        yield made


@pytest.fixture
def replicated(cluster: Cluster, standbys: list[StandbyServer]) -> Cluster:
    """`cluster` with its standbys as nodes that were seen in recovery."""
    for server in standbys:
        server.catch_up()
        node = ClusterNode.objects.create(cluster=cluster, host=server.host, port=server.port)
        node.record(in_recovery=True, state="online")
    return cluster


def visited(pooler: Pooler, times: int) -> list[str]:
    """Which servers a client came to, each time over a new server connection."""
    address = {"host": pooler.host, "port": pooler.port, "dbname": "reads", "user": "app", "password": "app-password"}
    found = set()
    with ExitStack() as stack:
        for _ in range(times):  # each holds its server
            session = stack.enter_context(psycopg.connect(**address))
            found.add(session.execute("SELECT host(inet_server_addr()), pg_is_in_recovery()").fetchone())
    assert all(recovering for _, recovering in found)
    return sorted(host for host, _ in found)


@pytest.mark.parametrize("balance", ["", "round-robin", "disable"])
def test_a_pool_of_several_standbys_takes_turns_or_keeps_to_one(
    balance: str, pooler: Pooler, make_pool: MakePool, replicated: Cluster, version: Version
) -> None:
    if balance and version < (1, 24):
        pytest.skip("load_balance_hosts came with 1.24")
    pool = make_pool("reads", target="standby", size=4, settings={"load_balance_hosts": balance} if balance else {})
    deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
    assert visited(pooler, 4) == (["127.0.0.1"] if balance == "disable" else ["127.0.0.1", "127.0.0.2"])


def test_a_login_that_the_standbys_refuse_is_found_at_them_and_not_at_the_primary(
    pooler: Pooler, make_pool: MakePool, replicated: Cluster, standbys: list[StandbyServer]
) -> None:
    hba = standbys[1].cluster_folder / "pg_hba.conf"
    kept = hba.read_text()
    hba.write_text(f"host all app all reject\n{kept}")
    try:
        with standbys[1].connect() as session:
            session.execute("SELECT pg_reload_conf()")
            until(lambda: session.execute("SELECT FROM pg_hba_file_rules WHERE auth_method = 'reject'").fetchall())
        pool = make_pool("reads", target="standby")
        deployment.apply_pooler(pooler)
        pool.refresh_from_db()
        assert pool.state == PoolState.ROLLED_BACK
        assert f"127.0.0.2:{standbys[1].port}" in pool.state_reason
    finally:
        hba.write_text(kept)
        with standbys[1].connect() as session:
            session.execute("SELECT pg_reload_conf()")


def test_a_standby_that_is_down_is_told_and_does_not_keep_the_others_waiting(
    pooler: Pooler, make_pool: MakePool, replicated: Cluster, standbys: list[StandbyServer]
) -> None:
    node = ClusterNode.objects.create(cluster=replicated, host="127.0.0.3", port=standbys[0].port)
    node.record(in_recovery=True, state="online")
    pool = make_pool("reads", target="standby")
    revision = deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
    (note,) = [step["detail"] for step in revision.steps if step["step"] == "noted"]
    assert note.startswith("pool reads routes to a standby that does not answer: ")
    assert f"127.0.0.3:{node.port}" in note
