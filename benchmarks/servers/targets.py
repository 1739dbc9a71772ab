"""What a run is aimed at: found, checked, and turned into the endpoint that the program logs in to."""

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from benchmarks.errors import InvalidTarget
from benchmarks.models import Purpose, Run
from pools import endpoints
from pools.endpoints import Endpoint
from pools.models import Cluster, Pool, PoolState

LIVE = (PoolState.APPLIED, PoolState.DRIFTED)
FIELDS = {"cluster", "database", "user", "pool"}


@dataclass(frozen=True)
class Target:
    """A pool or a database of a cluster, and the role to log in as; empty: the pool's, or the cluster's admin."""

    cluster: Cluster
    database: str
    pool: Pool | None = None
    role: str = ""

    @property
    def label(self) -> str:
        """What it is called once it may be gone."""
        if self.pool is not None:
            return f"{self.pool.name} on {self.pool.pooler.name}"
        return f"{self.cluster.name}/{self.database}"

    @property
    def login(self) -> str:
        """The role that the load logs in to PostgreSQL as; empty where one has to be named."""
        return self.role or (self.cluster.admin_user if self.pool is None else self.pool.login)

    def fields(self) -> dict[str, Any]:
        """The run's columns that name it."""
        return {
            "cluster": self.cluster,
            "database": self.database,
            "pool": self.pool,
            "pooled": self.pool is not None,
            "role": self.role,
            "target_label": self.label,
        }


def find(target: dict[str, Any], *, purpose: str = Purpose.LOAD) -> Target:
    """The target of `{"pool": id, "user": role?}` or `{"cluster": id, "database": name, "user": role?}`.

    Raises `InvalidTarget`. A pool of a fixed user takes no other role.

    A dataset is always made in the database itself, so preparing through a pool goes round the pooler.
    """
    if not isinstance(target, dict):
        raise InvalidTarget({"target": ['give {"pool": id} or {"cluster": id, "database": name}']})
    if unknown := sorted(set(target) - FIELDS):
        raise InvalidTarget(
            {name: ["unknown field of a target: use pool, or cluster and database"] for name in unknown}
        )
    if target.get("pool") and target.get("cluster"):
        raise InvalidTarget({"pool": ["give a pool or a cluster, not both"]})
    found = _pool_target(target, purpose) if target.get("pool") else _cluster_target(target)
    _check_login(found)
    return found


def _pool_target(target: dict[str, Any], purpose: str) -> Target:
    pool_id = target["pool"]
    pools = Pool.objects.wanted().select_related("pooler", "cluster")
    pool = pools.filter(pk=_uuid("pool", pool_id)).first()
    if pool is None:
        raise InvalidTarget({"pool": [f"there is no pool {pool_id}: choose one of the list"]})
    if purpose == Purpose.PREPARE:
        return Target(pool.cluster, pool.database)
    if pool.state not in LIVE:
        raise InvalidTarget({"pool": [f"pool {pool.name} is {pool.get_state_display()}, not live: apply it first"]})
    return Target(pool.cluster, pool.database, pool=pool, role=_role_through(pool, target.get("user")))


def _cluster_target(target: dict[str, Any]) -> Target:
    if not target.get("cluster"):
        raise InvalidTarget({"cluster": ["choose a cluster, or a pool"]})
    cluster = Cluster.objects.filter(pk=_uuid("cluster", target["cluster"])).first()
    if cluster is None:
        raise InvalidTarget({"cluster": [f"there is no cluster {target['cluster']}: choose one of the list"]})
    database = target.get("database")
    if not isinstance(database, str) or not database:
        raise InvalidTarget({"database": [f"name a database of {cluster.name}"]})
    if len(database.encode()) > 63 or "\x00" in database:
        raise InvalidTarget({"database": ["a database name has at most 63 bytes and no NUL"]})
    return Target(cluster, database, role=_role(target.get("user"), cluster))


def _role(user: Any, cluster: Cluster) -> str:
    if user is None or user == "" or user == cluster.admin_user:
        return ""
    if not isinstance(user, str):
        raise InvalidTarget({"user": ["name a role"]})
    return user


def _role_through(pool: Pool, user: Any) -> str:
    role = _role(user, pool.cluster)
    if pool.user and user not in (None, "", pool.user):
        raise InvalidTarget({"user": [f"pool {pool.name} logs everybody in as {pool.user}: leave the role out"]})
    return "" if pool.user else role


def _uuid(field: str, text: Any) -> UUID:
    try:
        return UUID(str(text))
    except ValueError:
        raise InvalidTarget({field: [f"{text!r} is not an id"]}) from None


def _check_login(target: Target) -> None:
    field = "pool" if target.pool is not None and not target.role else "user"
    if not target.login and target.pool is not None:
        raise InvalidTarget(
            {
                "user": [
                    f"pool {target.pool.name} lets each role in as itself, but no superuser, so not "
                    f"{target.cluster.admin_user}: name a role whose password the panel knows"
                ]
            }
        )
    if target.login != target.cluster.admin_user and target.cluster.password_of(target.login) is None:
        raise InvalidTarget(
            {field: [f"the panel does not know the password of role {target.login}: give it with a pool of that user"]}
        )


def endpoint_of(run: Run) -> Endpoint:
    """Where the run's program logs in; raises `InvalidTarget` when its cluster or pool was removed meanwhile."""
    if run.cluster is None:
        raise InvalidTarget({"cluster": [f"the cluster of {run.target_label} was removed"]})
    if run.pool is None and run.pooled:
        raise InvalidTarget({"pool": [f"the pool {run.target_label} was removed"]})
    endpoint = endpoints.for_panel(run.pool) if run.pool else endpoints.of_cluster(run.cluster, run.database)
    return replace(endpoint, user=run.role, password=run.cluster.password_of(run.role)) if run.role else endpoint
