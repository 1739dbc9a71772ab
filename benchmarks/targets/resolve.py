"""What a run is aimed at: found, checked, and turned into the endpoint that the program logs in to."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from benchmarks.errors import InvalidTarget
from benchmarks.models import ExternalEndpoint, Purpose, Run
from panel.lib import addresses
from pools.clusters import connect, endpoints
from pools.clusters.endpoints import Endpoint
from pools.models import Cluster, Pool, PoolState

LIVE = (PoolState.APPLIED, PoolState.DRIFTED)
FIELDS = {"cluster", "database", "user", "pool", "external"}


@dataclass(frozen=True)
class Target:
    """A pool, a database of a cluster, or an external endpoint, and the role to log in as.

    An empty role is the pool's, or the cluster's admin. An external endpoint has a cluster only where one is
    registered behind it; `database` is then what it is called there.
    """

    cluster: Cluster | None
    database: str
    pool: Pool | None = None
    role: str = ""
    external: ExternalEndpoint | None = None

    @property
    def label(self) -> str:
        """What it is called once it may be gone."""
        if self.external is not None:
            return self.external.label
        if self.pool is not None:
            return f"{self.pool.name} on {self.pool.pooler.name}"
        return f"{self.place}/{self.database}"

    @property
    def place(self) -> str:
        """Whose tables and sessions these are, in words."""
        return self.cluster.name if self.cluster else self.label

    @property
    def pooled(self) -> bool:
        """Whether a pooler stands between the load and the server."""
        return self.pool is not None or bool(self.external and self.external.pooled_by)

    @property
    def is_protected(self) -> bool:
        """Whether what writes needs the database's name typed: whose an unregistered server is, nobody knows."""
        return self.cluster is None or self.cluster.protected

    @property
    def protection(self) -> str:
        """Why what writes needs the database's name typed, as the beginning of a sentence."""
        return f"cluster {self.place} is protected" if self.cluster else f"no cluster is registered behind {self.place}"

    @property
    def login(self) -> str:
        """The role that the load logs in to PostgreSQL as; empty where one has to be named."""
        if self.role or self.cluster is None:
            return self.role
        return self.cluster.admin_user if self.pool is None else self.pool.login

    def fields(self) -> dict[str, Any]:
        """The run's columns that name it."""
        return {
            "cluster": self.cluster,
            "database": self.database,
            "pool": self.pool,
            "pooled": self.pooled,
            "external": self.external,
            "is_external": self.external is not None,
            "pooled_by": self.external.pooled_by if self.external else "",
            "role": self.role,
            "target_label": self.label,
        }


def find(target: dict[str, Any], *, purpose: str = Purpose.LOAD) -> Target:
    """The target of `{"pool": id, "user": role?}`, `{"cluster": id, "database": name, "user": role?}` or
    `{"external": id}`.

    Raises `InvalidTarget`. A pool of a fixed user takes no other role.

    A dataset is always made in the database itself, so preparing through a pool goes round the pooler.
    """
    if not isinstance(target, dict):
        raise InvalidTarget({"target": ['give {"pool": id} or {"cluster": id, "database": name}']})
    if unknown := sorted(set(target) - FIELDS):
        raise InvalidTarget(
            {name: ["unknown field of a target: use pool, cluster and database, or external"] for name in unknown}
        )
    if target.get("external"):
        return _external_target(target, purpose)
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


def _external_target(target: dict[str, Any], purpose: str) -> Target:
    if others := sorted(name for name in FIELDS - {"external"} if target.get(name)):
        raise InvalidTarget({name: ["leave it out: an external endpoint says all of it by itself"] for name in others})
    if purpose == Purpose.PREPARE:
        raise InvalidTarget({"external": ["a dataset is made on a registered cluster: choose that"]})
    endpoints_known = ExternalEndpoint.objects.select_related("cluster")
    external = endpoints_known.filter(pk=_uuid("external", target["external"])).first()
    if external is None:
        raise InvalidTarget(
            {"external": [f"there is no external endpoint {target['external']}: choose one of the list"]}
        )
    database = external.cluster_database or external.database
    return Target(external.cluster, database, role=external.user, external=external)


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
    if target.cluster is None:
        return
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
    """Where the run's program logs in.

    Raises `InvalidTarget` when its cluster, pool or external endpoint was removed meanwhile, or leads where it may not.
    """
    if run.is_external:
        return _external_endpoint(run)
    if run.cluster is None:
        raise InvalidTarget({"cluster": [f"the cluster of {run.target_label} was removed"]})
    if run.pool is None and run.pooled:
        raise InvalidTarget({"pool": [f"the pool {run.target_label} was removed"]})
    endpoint = endpoints.for_panel(run.pool) if run.pool else endpoints.of_cluster(run.cluster, run.database)
    return replace(endpoint, user=run.role, password=run.cluster.password_of(run.role)) if run.role else endpoint


def _external_endpoint(run: Run) -> Endpoint:
    if run.external is None:
        raise InvalidTarget({"external": [f"the external endpoint {run.target_label} was removed"]})
    if refusal := addresses.refusal(run.external.host, run.external.port):
        raise InvalidTarget({"external": [refusal]})
    return run.external.endpoint


@contextmanager
def session(target: Target) -> Iterator[connect.Connection]:
    """A session on the target's server: as the panel's admin, or through an external endpoint as its own login.

    Raises `ClusterUnreachable` (of the pools app) and `InvalidTarget`.
    """
    if target.external is not None:
        opened = connect.connect_endpoint(target.external.endpoint)
    elif target.cluster is not None:
        opened = connect.connect(target.cluster)
    else:
        raise InvalidTarget({"cluster": [f"the cluster of {target.label} was removed"]})
    with opened as connection:
        yield connection


def cluster_of(target: Target) -> Cluster:
    """The registered cluster that it leads to; raises `InvalidTarget` where there is none."""
    if target.cluster is None:
        raise InvalidTarget(
            {"external": [f"no cluster is registered behind {target.label}: register it and name it there"]}
        )
    return target.cluster


def past_the_pooler(target: Target) -> Target:
    """The same database of the same cluster, directly as the same role; raises `InvalidTarget`."""
    cluster = cluster_of(target)
    if target.pool is None and target.external is None:
        raise InvalidTarget({"pool": ["a pair compares a pool with its cluster: name the pool or external endpoint"]})
    direct = Target(cluster, target.database, role=_role(target.login, cluster))
    _check_login(direct)
    return direct


def of_run(run: Run) -> Target:
    """The target that a run was aimed at, as it is now."""
    return Target(run.cluster, run.database, pool=run.pool, role=run.role, external=run.external)
