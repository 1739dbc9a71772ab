"""What the releases of PgBouncer can and can't do, each tried on the program."""

import psycopg
import pytest

from panel.quickstart.servers import PgBouncerServer
from pools import apply
from pools.models import Cluster, ClusterNode, Pooler, PoolState
from pools.poolers import catalogue
from pools.poolers.catalogue import Scope, Version
from pools.poolers.pgbouncer.catalogue import CATALOGUE
from tests.live.pools.conftest import LogIn, MakePool

pytestmark = [pytest.mark.live, pytest.mark.django_db(transaction=True)]


def test_prepared_statements_outlive_a_transaction_since_1_21(
    pooler: Pooler, make_pool: MakePool, version: Version
) -> None:
    make_pool(size=2)
    if version >= (1, 21):
        pooler.edit(None, settings={"max_prepared_statements": 10}, settings_state=PoolState.PENDING)
    apply.apply_pooler(pooler)
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
    unknown = [name for name, _ in catalogue.problems(CATALOGUE, Scope.PROGRAM, newer, version)]
    pooler.edit(None, settings=newer, settings_state=PoolState.PENDING)
    make_pool(settings={"query_wait_timeout": 3})
    apply.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert pooler.settings_state == PoolState.ROLLED_BACK
    assert all(name in pooler.settings_reason for name in unknown)
    written = "".join(path.read_text() for path in pgbouncer.config_dir.iterdir())
    assert not [name for name in ("transaction_timeout", "query_wait_timeout") if name in written]


def test_every_program_setting_offered_to_a_release_is_one_it_shows(
    pgbouncer: PgBouncerServer, version: Version
) -> None:
    with pgbouncer.connect() as console:
        live = {row[0] for row in console.execute(b"SHOW CONFIG")}
    assert {setting.name for setting in catalogue.shown(CATALOGUE, Scope.PROGRAM, version)} == live


def test_a_pool_leads_to_the_standbys(
    pooler: Pooler, make_pool: MakePool, cluster: Cluster, log_in: LogIn, pgbouncer: PgBouncerServer
) -> None:
    cluster.nodes.model.objects.all().delete()
    pool = make_pool(target="standby")
    apply.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, "has none that were seen in recovery" in pool.state_reason) == (PoolState.ROLLED_BACK, True)
    password, cluster.host = cluster.admin_password, "localhost"
    cluster.admin_password = password
    cluster.save()
    for host, port in (("127.0.0.1", cluster.port), ("127.0.0.2", cluster.port + 1)):
        node = ClusterNode.objects.create(cluster=cluster, host=host, port=port)
        node.record(in_recovery=True, state="online")
    pool.edit(None, state=PoolState.PENDING)
    revision = apply.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
    assert log_in("orders") == "app"
    entry = (pgbouncer.config_dir / "pooldeck.ini").read_text()
    assert f"host='127.0.0.1' port={cluster.port} " in entry
    notes = [step["detail"] for step in revision.steps if step["step"] == "noted"]
    assert notes == [f"127.0.0.2:{cluster.port + 1} of live left out: an entry has one port, here {cluster.port}"]
