"""The demo: a cluster, both poolers, a pool and a dataset, created by the same functions that pages call.

Each part is created once and remembered by its id, so that a part that a person deleted does not come back.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db import models

from benchmarks.models import Dataset, Purpose, Run, Status
from benchmarks.runs.submission import submit
from core.lib import private_text
from panel.quickstart.home import Home
from panel.quickstart.programs import ProgramFailed
from panel.quickstart.servers import Server
from panel.quickstart.services import DEMO_CLUSTER, DEMO_ROLE, DemoServers
from panel.quickstart.supervise import Supervisor
from pools.inventory import clusters, poolers, pools
from pools.models import Cluster, Mode, Pool, Pooler, PoolerKind, PoolState

CLUSTER, DATABASE, POOL = DEMO_CLUSTER, "app", "app"
POOL_SIZE = 10
SCALE = 10  # a million rows, 150 MB
APPLIED_WITHIN_S = 60
PREPARED_WITHIN_S = 180
Record = TypeVar("Record", Cluster, Pooler, Pool)


class Demo:
    """The demo in the panel; the home remembers what earlier starts created."""

    def __init__(self, home: Home, servers: DemoServers, author: User) -> None:
        self.home, self.servers, self.author = home, servers, author

    def register(self) -> None:
        """Create cluster, poolers and pool; update existing ones to the current port of their server."""
        cluster = self._find_or_make(Cluster, CLUSTER, self._register_cluster)
        self._follow(clusters.change, cluster, self.servers.postgres, self.servers.postgres.password)
        pgbouncer = self._pooler(PoolerKind.PGBOUNCER, self.servers.pgbouncer, self._pgbouncer_login())
        pgpool = self._pooler(PoolerKind.PGPOOL, self.servers.pgpool, self._pgpool_login())
        self._follow_control_port(pgpool)
        if cluster and pgbouncer:
            self._find_or_make(Pool, POOL, lambda: self._make_pool(cluster, pgbouncer))

    def _find_or_make(self, model: type[Record], name: str, make: Callable[[], Record]) -> Record | None:
        """Return the record of an earlier start (None if a person has deleted it), else a new one."""
        kept = self.home.kept("demo", f"{model.__name__.lower()} {name}")
        if kept:
            return model._default_manager.filter(pk=kept).first()
        # found by name only if an earlier start was killed before it remembered the id
        record = model._default_manager.filter(name=name).first() or make()
        self.home.keep("demo", f"{model.__name__.lower()} {name}", str(record.pk))
        return record

    def _register_cluster(self) -> Cluster:
        postgres = self.servers.postgres
        postgres.create_owner_and_database(DEMO_ROLE, self.servers.role_password, DATABASE)
        values: clusters.ClusterValues = {
            "name": CLUSTER,
            "host": postgres.host,
            "port": postgres.port,
            "sslmode": "disable",
            "admin_user": postgres.superuser,
            "admin_password": postgres.password,
            "protected": False,
        }
        return clusters.register(values, author=self.author)[0]

    def _pgbouncer_login(self) -> poolers.PoolerValues:
        server = self.servers.pgbouncer
        return {
            "admin_user": server.admin_user,
            "admin_password": server.admin_password,
            "config_dir": str(server.config_dir),
        }

    def _pgpool_login(self) -> poolers.PoolerValues:
        backend, server = self.servers.postgres, self.servers.pgpool
        return {
            "admin_user": backend.superuser,
            "admin_password": backend.password,
            "config_dir": str(server.config_dir),
            "pcp_port": server.pcp_port,
        }

    def _pooler(self, kind: PoolerKind, server: Server, login: poolers.PoolerValues) -> Pooler | None:
        values: poolers.PoolerValues = {
            **login,
            "name": kind.value,
            "kind": kind.value,
            "host": server.host,
            "port": server.port,
        }
        pooler = self._find_or_make(Pooler, kind.value, lambda: poolers.register(values, author=self.author)[0])
        self._follow(poolers.change, pooler, server, login["admin_password"] or "")
        self._follow_folder(pooler, login["config_dir"])
        return pooler

    def _follow_folder(self, pooler: Pooler | None, now: str) -> None:
        """Update the record to the current folder, so that a copied home never writes into its original's."""
        if pooler is None:
            return
        was = self.home.kept("demo", f"folder of {pooler.pk}")
        if was not in (None, now) and pooler.config_dir == was:
            poolers.change(pooler, {"config_dir": now}, None, author=self.author)
        self.home.keep("demo", f"folder of {pooler.pk}", now)

    def _follow(
        self, change: Callable[..., Any], record: Cluster | Pooler | None, server: Server, password: str
    ) -> None:
        """Update the record to the server's current port, unless a person has changed its address.

        A password is bound to its address, so it is stored again.
        """
        was = self.home.kept("demo", f"port of {server}")
        if record and server.port != was and (record.host, record.port) == (server.host, was):
            change(record, {"port": server.port, "admin_password": password}, None, author=self.author)
        self.home.keep("demo", f"port of {server}", server.port)

    def _follow_control_port(self, pgpool: Pooler | None) -> None:
        """Update the PCP port, which homes of earlier releases have not registered."""
        now, was = self.servers.pgpool.pcp_port, self.home.kept("demo", "port of pcp")
        if pgpool and pgpool.pcp_port != now and pgpool.pcp_port in (None, was):
            poolers.change(pgpool, {"pcp_port": now}, None, author=self.author)
        self.home.keep("demo", "port of pcp", now)

    def _make_pool(self, cluster: Cluster, pooler: Pooler) -> Pool:
        values: pools.PoolValues = {
            "name": POOL,
            "pooler": pooler,
            "cluster": cluster,
            "database": DATABASE,
            "user": DEMO_ROLE,
            "mode": Mode.TRANSACTION,
            "size": POOL_SIZE,
            "user_password": self.servers.role_password,
        }
        return pools.create(values, author=self.author)

    def wait_for_pool(self, supervisor: Supervisor) -> str:
        """Wait until the pool is live; return why a pool that a person has changed is not."""
        pool = self._existing(Pool, POOL)
        if pool is None:
            return ""
        supervisor.wait_for(f"the pool {pool} is applied", APPLIED_WITHIN_S, lambda: settled(pool))
        if not fresh(pool):  # a person had requested its removal before the last stop
            return ""
        if pool.state == PoolState.APPLIED:
            self.home.keep("demo", "pool was live", True)
            return ""
        if not self.home.kept("demo", "pool was live"):
            raise ProgramFailed(f"the demo pool {pool} is {pool.state}: {pool.state_reason}")
        return f"the pool {pool} is {pool.get_state_display()}: {pool.state_reason}"

    def _existing(self, model: type[Record], name: str) -> Record | None:
        kept = self.home.kept("demo", f"{model.__name__.lower()} {name}")
        return model._default_manager.filter(pk=kept).first()

    def needs_dataset(self) -> bool:
        """Tell whether the dataset has yet to be prepared."""
        return not self.home.kept("demo", "dataset was prepared")

    def ask_for_dataset(self) -> Run | None:
        """Queue the run that creates pgbench's tables; None where they exist, or the cluster was deleted."""
        cluster = self._existing(Cluster, CLUSTER)
        if cluster is None or Dataset.objects.filter(cluster=cluster, database=DATABASE).exists():
            return None
        request = submit.RunRequest(
            target={"cluster": str(cluster.pk), "database": DATABASE},
            options={"scale": SCALE},
            author=self.author,
            purpose=Purpose.PREPARE,
            name="demo dataset",
        )
        return submit.submit(request)[0]

    def prepare_dataset(self, supervisor: Supervisor) -> None:
        """Have the worker create pgbench's tables in the demo database; raises `ProgramFailed`."""
        if run := self.ask_for_dataset():
            supervisor.wait_for("the dataset is prepared", PREPARED_WITHIN_S, lambda: ended(run))
            if run.status != Status.SUCCEEDED:
                raise ProgramFailed(
                    f"preparing the demo dataset {run.get_status_display()}: {private_text.for_admins(run.error)}"
                )
        self.dataset_is_asked_for()

    def dataset_is_asked_for(self) -> None:
        """Remember the dataset, so that it does not come back after a person drops it."""
        self.home.keep("demo", "dataset was prepared", True)

    def cluster_id(self) -> str:
        """Return the cluster of the experiment; raises `ProgramFailed` where it was deleted."""
        cluster = self._existing(Cluster, CLUSTER)
        if cluster is None:
            raise ProgramFailed("the demo cluster was deleted: use --once with a fresh POOLDECK_HOME")
        return str(cluster.pk)


def settled(pool: Pool) -> bool:
    """Tell whether an apply has finished with the pool, or the pool is gone; reads the database."""
    return not fresh(pool) or pool.state != PoolState.PENDING


def ended(run: Run) -> bool:
    """Tell whether the run has its final state, or is gone; reads the database."""
    return not fresh(run) or run.is_final


def fresh(record: models.Model) -> bool:
    """Read the record again; return False where it is gone."""
    try:
        record.refresh_from_db()
    except type(record).DoesNotExist:  # type: ignore[attr-defined]
        return False
    return True
