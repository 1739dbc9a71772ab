"""Every row of the table that helps to choose between the poolers, shown true here or by the test it names."""

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from panel.quickstart import account
from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PgBouncerServer
from pools import deployment
from pools.advice import feature_table
from pools.inventory import pool_validation
from pools.models import Cluster, Mode, Pool, Pooler, PoolerKind, PoolState
from pools.poolers import KINDS
from pools.poolers.pgpool import pcp, sql
from tests.live.conftest import CHILDREN
from tests.live.standbys import until

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parents[4]
SHOWN_ELSEWHERE = {
    "availability": (
        "tests/live/pools/poolers/test_pgpool_nodes.py::test_a_node_is_detached_and_attached_from_its_page",
    ),
    "balancing": ("tests/live/pools/poolers/test_pgpool_nodes.py::test_reads_go_to_the_standby_by_weight",),
    "authentication": (
        "tests/live/pools/poolers/pgbouncer/test_inbound_users.py::test_each_person_logs_in_as_themselves_by_scram",
        "tests/live/pools/deployment/test_pgpool_apply.py::test_a_pool_lets_its_user_in_to_its_database_alone",
    ),
    "hba": (
        "tests/live/pools/poolers/pgbouncer/test_program_settings.py::test_an_hba_file_rules_who_logs_in",
        "tests/live/pools/deployment/test_pgpool_apply.py::test_a_pool_lets_its_user_in_to_its_database_alone",
    ),
    "tls": (
        "tests/live/pools/poolers/pgbouncer/test_tls.py::test_clients_may_insist_on_the_certificate_that_was_given",
        "tests/live/pools/poolers/test_pgpool_tls.py::test_clients_may_insist_on_the_certificate_that_was_given",
    ),
    "chaining": ("tests/live/pools/poolers/test_chain.py::test_a_query_goes_through_both",),
}
LogIn = Callable[..., "psycopg.Connection[tuple[object, ...]]"]


@pytest.fixture
def bounced(cluster: Cluster, pooler: Pooler) -> Pool:
    """A pool of one connection in transaction mode on the PgBouncer."""
    values = {"name": "app", "database": "app", "user": "app", "mode": Mode.TRANSACTION, "size": 1}
    pool = Pool.objects.create(pooler=pooler, cluster=cluster, **values)
    deployment.apply_pooler(pooler)
    return pool


@pytest.fixture
def cached(cluster: Cluster, pgpool_pooler: Pooler) -> Pool:
    """The same database on the Pgpool-II."""
    values = {"name": "app", "database": "app", "user": "app", "mode": Mode.SESSION, "size": CHILDREN}
    pool = Pool.objects.create(pooler=pgpool_pooler, cluster=cluster, **values)
    deployment.apply_pooler(pgpool_pooler)
    return pool


def client(pool: Pool) -> "psycopg.Connection[tuple[object, ...]]":
    address = {"host": pool.pooler.host, "port": pool.pooler.port, "dbname": pool.name}
    login = {"user": "app", "password": "app-password", "connect_timeout": 3}
    return psycopg.connect(**address, **login, autocommit=True, prepare_threshold=None)


def server_pid(pool: Pool) -> int:
    with client(pool) as session:
        return session.execute(b"SELECT pg_backend_pid()").fetchone()[0]


def children(pid: int) -> int:
    return len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


def test_every_row_is_shown() -> None:
    here = {name.removeprefix("test_row_") for name in globals() if name.startswith("test_row_")}
    assert here | set(SHOWN_ELSEWHERE) == set(feature_table.QUESTIONS)
    for path, _, name in (one.partition("::") for tests in SHOWN_ELSEWHERE.values() for one in tests):
        assert f"def {name}(" in (ROOT / path).read_text()


def test_row_resources(pgbouncer: PgBouncerServer, own_pgpool: PgpoolServer) -> None:
    assert children(pgbouncer.process.pid) == 0
    until(lambda: children(own_pgpool.process.pid) >= CHILDREN)  # it answers before it has forked all of them


def test_row_reuse(bounced: Pool, cached: Pool) -> None:
    assert len({server_pid(bounced) for _ in range(8)}) == 1
    assert len({server_pid(cached) for _ in range(8)}) > 1


def test_row_modes(bounced: Pool, cached: Pool) -> None:
    for mode in Mode:
        bounced.mode = cached.mode = mode
        assert [field for field, _ in pool_validation.problems(bounced)] == []
        assert [field for field, _ in pool_validation.problems(cached)] == ([] if mode == Mode.SESSION else ["mode"])


def test_row_clusters(bounced: Pool, cached: Pool, cluster: Cluster) -> None:
    other = Cluster.objects.create(name="other", host=cluster.host, port=cluster.port, admin_user="postgres")
    asked = [Pool(pooler=pool.pooler, cluster=other, name="b", database="b") for pool in (bounced, cached)]
    assert list(KINDS[PoolerKind.PGBOUNCER].clashes(asked[0])) == []
    assert [field for field, _ in KINDS[PoolerKind.PGPOOL].clashes(asked[1])] == ["cluster"]


def test_row_limits(bounced: Pool, cached: Pool) -> None:
    limit = KINDS[PoolerKind.PGBOUNCER].show(bounced.pooler, "databases")
    assert next(row["pool_size"] for row in limit if row["name"] == "app") == 1
    cached.size = 1
    assert [field for field, _ in pool_validation.problems(cached)] == ["size"]


def test_row_queueing(bounced: Pool, cached: Pool, own_pgpool: PgpoolServer) -> None:
    with client(bounced) as first, client(bounced) as second:
        first.execute(b"BEGIN")
        first.execute(b"SELECT 1")
        second.pgconn.send_query(b"SELECT 1")
        waiting = [KINDS[PoolerKind.PGBOUNCER].sample(bounced.pooler).figures["app"].cl_waiting for _ in range(3)]
        first.execute(b"ROLLBACK")
        while second.pgconn.get_result():
            pass
    assert waiting[-1] == 1
    conf = own_pgpool.config_dir / "pgpool.conf"
    own_pgpool.stop()
    own_pgpool.prepare()
    account.write_private(conf, conf.read_text() + "num_init_children = 1\n")
    own_pgpool.spawn()
    own_pgpool.wait_until_ready()
    with client(cached), pytest.raises(psycopg.errors.ConnectionTimeout):
        client(cached)


def test_row_administration(bounced: Pool, cached: Pool, pgbouncer: PgBouncerServer) -> None:
    with pgbouncer.connect() as console:
        assert console.execute(b"SHOW VERSION").fetchone()[0] == bounced.pooler.server_version
    assert sql.show(cached.pooler, "version")
    pcp.log_in(cached.pooler)
    assert Pool.objects.filter(state=PoolState.APPLIED).count() == 2


def test_row_replication(bounced: Pool, cached: Pool) -> None:
    """The installed releases: a PgBouncer before 1.23."""
    asked = {"host": bounced.pooler.host, "port": bounced.pooler.port, "dbname": "app", "user": "app"}
    with pytest.raises(psycopg.OperationalError, match="replication"):
        psycopg.connect(**asked, password="app-password", replication="database", connect_timeout=3)
    modes = next(row for row in sql.show(cached.pooler, "config") if row["item"] == "backend_clustering_mode")
    assert modes["value"] == "raw"


def test_row_license() -> None:
    reported = {name: Path(f"/usr/share/doc/{name}/copyright").read_text() for name in ("pgbouncer", "pgpool2")}
    assert "use, copy, modify, and/or distribute this software" in " ".join(reported["pgbouncer"].split())
    assert "use, copy, modify, and distribute this software" in " ".join(reported["pgpool2"].split())
