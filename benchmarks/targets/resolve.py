"""Targets of runs: found, validated, and resolved to the endpoint that the program logs in to."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TypedDict, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _

from benchmarks.errors import InvalidTarget
from benchmarks.models import ExternalEndpoint, Purpose, Run
from benchmarks.targets import entries
from core.accounts.access import Access
from core.lib import addresses
from pools.clusters import connect, endpoints
from pools.clusters.endpoints import Endpoint
from pools.models import LIVE_STATES, Cluster, Entry, Pool

Record = TypeVar("Record", bound=Model)
FIELDS = {"cluster", "database", "user", "pool", "external", "entry"}


class RequestedTarget(TypedDict, total=False):
    """A target as a form or an API client names it; `find` checks the values, which are text where they are right."""

    cluster: object
    database: object
    user: object
    pool: object
    external: object
    entry: object


class TargetColumns(TypedDict):
    """The columns of a run that name its target."""

    cluster: Cluster | None
    database: str
    pool: Pool | None
    pooled: bool
    external: ExternalEndpoint | None
    team_id: UUID | None
    is_external: bool
    pooled_by: str
    role: str
    target_label: str


@dataclass(frozen=True)
class Target:
    """A pool, a database of a cluster, or an external endpoint, and the role to log in as.

    An empty role is the pool's, or the cluster's admin. An external endpoint has a cluster only where one is registered
    behind it; `database` is then its name there.
    """

    cluster: Cluster | None
    database: str
    pool: Pool | None = None
    role: str = ""
    external: ExternalEndpoint | None = None

    @property
    def label(self) -> str:
        """Its name, stored with runs for when the target is gone."""
        if self.external is not None:
            return self.external.label
        if self.pool is not None:
            return _("%(pool)s on %(pooler)s") % {"pool": self.pool.name, "pooler": self.pool.pooler.name}
        return f"{self.place}/{self.database}"

    @property
    def place(self) -> str:
        """The cluster's name, else the endpoint's."""
        return self.cluster.name if self.cluster else self.label

    @property
    def pooled(self) -> bool:
        """True if a pooler is between the load and the server."""
        return self.pool is not None or bool(self.external and self.external.pooled_by)

    @property
    def is_protected(self) -> bool:
        """True if a write needs the database's name typed; true for an unregistered server, whose owner is unknown."""
        return self.cluster is None or self.cluster.protected

    @property
    def login(self) -> str:
        """The role that the load logs in to PostgreSQL as; empty where one has to be named."""
        if self.role or self.cluster is None:
            return self.role
        return self.cluster.admin_user if self.pool is None else self.pool.login

    def fields(self) -> TargetColumns:
        """Return the run's columns that name the target."""
        return {
            "cluster": self.cluster,
            "database": self.database,
            "pool": self.pool,
            "pooled": self.pooled,
            "external": self.external,
            "team_id": owner.team_id if (owner := self.external or self.cluster) else None,
            "is_external": self.external is not None,
            "pooled_by": self.external.pooled_by if self.external else "",
            "role": self.role,
            "target_label": self.label,
        }


def find(target: RequestedTarget, *, purpose: str = Purpose.LOAD, access: Access | None = None) -> Target:
    """Return the target of `{"pool": id}`, `{"cluster": id, "database": name}`, `{"external": id}` or `{"entry": id}`.

    All but `external` take a `"user"`; a pool of a fixed user takes no other role. A dataset is always made in the
    database itself, so preparing through a pool bypasses the pooler. `access` is that of the person who asks (None: the
    panel itself): what they may not see is not found. Raises `InvalidTarget`, and `PermissionDenied` where they may see
    it and not load it.
    """
    if not isinstance(target, dict):
        raise InvalidTarget({"target": [_('give {"pool": id} or {"cluster": id, "database": name}')]})
    if unknown := sorted(set(target) - FIELDS):
        text = _("unknown field of a target: use pool, cluster and database, entry, or external")
        raise InvalidTarget({name: [text] for name in unknown})
    if target.get("entry"):
        target = {"external": _endpoint_of_entry(target, access).pk}
    if target.get("external"):
        return _external_target(target, purpose, access)
    if target.get("pool") and target.get("cluster"):
        raise InvalidTarget({"pool": [_("give a pool or a cluster, not both")]})
    found = _pool_target(target, purpose, access) if target.get("pool") else _cluster_target(target, purpose, access)
    _check_login(found)
    return found


def _visible(rows: QuerySet[Record], access: Access | None) -> QuerySet[Record]:
    return access.visible(rows) if access else rows


def _require(record: Pool | Cluster | ExternalEndpoint, purpose: str, access: Access | None) -> None:
    if access:
        access.require("dataset.create" if purpose == Purpose.PREPARE else "run.start", record)


def _pool_target(target: RequestedTarget, purpose: str, access: Access | None) -> Target:
    pool_id = target["pool"]
    pools = _visible(Pool.objects.wanted().select_related("pooler", "cluster"), access)
    pool = pools.filter(pk=_uuid("pool", pool_id)).first()
    if pool is None:
        raise InvalidTarget({"pool": [_("there is no pool %(id)s: choose one of the list") % {"id": pool_id}]})
    _require(pool, purpose, access)
    if purpose == Purpose.PREPARE:
        return Target(pool.cluster, pool.database)
    if pool.state not in LIVE_STATES:
        raise InvalidTarget(
            {
                "pool": [
                    _("pool %(name)s is not live (%(state)s): apply it first")
                    % {"name": pool.name, "state": pool.get_state_display()}
                ]
            }
        )
    return Target(pool.cluster, pool.database, pool=pool, role=_role_through(pool, target.get("user")))


def _endpoint_of_entry(target: RequestedTarget, access: Access | None) -> ExternalEndpoint:
    if others := sorted(name for name in FIELDS - {"entry", "user"} if target.get(name)):
        raise InvalidTarget({name: [_("leave it out: an entry includes it")] for name in others})
    rows = _visible(Entry.objects.select_related("pooler"), access)
    entry = rows.filter(pk=_uuid("entry", target["entry"])).first()
    if entry is None:
        text = _("there is no entry %(entry)s: choose one of the list")
        raise InvalidTarget({"entry": [text % {"entry": target["entry"]}]})
    return entries.find(entry, str(target.get("user") or ""))


def _external_target(target: RequestedTarget, purpose: str, access: Access | None) -> Target:
    if others := sorted(name for name in FIELDS - {"external"} if target.get(name)):
        raise InvalidTarget({name: [_("leave it out: an external endpoint includes it")] for name in others})
    if purpose == Purpose.PREPARE:
        raise InvalidTarget({"external": [_("a dataset is made on a registered cluster: choose that")]})
    endpoints_known = _visible(ExternalEndpoint.objects.select_related("cluster"), access)
    external = endpoints_known.filter(pk=_uuid("external", target["external"])).first()
    if external is None:
        raise InvalidTarget(
            {
                "external": [
                    _("there is no external endpoint %(external)s: choose one of the list")
                    % {"external": target["external"]}
                ]
            }
        )
    _require(external, purpose, access)
    return of_external(external)


def of_external(external: ExternalEndpoint) -> Target:
    """Return the target of an external endpoint, which need not be saved yet."""
    database = external.cluster_database or external.database
    return Target(external.cluster, database, role=external.user, external=external)


def _cluster_target(target: RequestedTarget, purpose: str, access: Access | None) -> Target:
    if not target.get("cluster"):
        raise InvalidTarget({"cluster": [_("choose a cluster, or a pool")]})
    cluster = _visible(Cluster.objects.all(), access).filter(pk=_uuid("cluster", target["cluster"])).first()
    if cluster is None:
        raise InvalidTarget(
            {"cluster": [_("there is no cluster %(cluster)s: choose one of the list") % {"cluster": target["cluster"]}]}
        )
    _require(cluster, purpose, access)
    database = target.get("database")
    if not isinstance(database, str) or not database:
        raise InvalidTarget({"database": [_("name a database of %(name)s") % {"name": cluster.name}]})
    if len(database.encode()) > 63 or "\x00" in database:
        raise InvalidTarget({"database": [_("a database name has at most 63 bytes and no NUL")]})
    return Target(cluster, database, role=_role(target.get("user"), cluster))


def _role(user: object, cluster: Cluster) -> str:
    if user is None or user == "" or user == cluster.admin_user:
        return ""
    if not isinstance(user, str):
        raise InvalidTarget({"user": [_("name a role")]})
    return user


def _role_through(pool: Pool, user: object) -> str:
    role = _role(user, pool.cluster)
    if pool.user and user not in (None, "", pool.user):
        raise InvalidTarget(
            {
                "user": [
                    _("pool %(name)s logs everybody in as %(user)s: leave the role out")
                    % {"name": pool.name, "user": pool.user}
                ]
            }
        )
    return "" if pool.user else role


def _uuid(field: str, text: object) -> UUID:
    try:
        return UUID(str(text))
    except ValueError:
        raise InvalidTarget({field: [_("%(text)s is not an id") % {"text": repr(text)}]}) from None


def _check_login(target: Target) -> None:
    if target.cluster is None:
        return
    field = "pool" if target.pool is not None and not target.role else "user"
    if not target.login and target.pool is not None:
        text = _(
            "pool %(pool)s lets each role in as itself, but no superuser, so not %(admin)s: name a role whose password "
            "the panel knows"
        )
        names = {"pool": target.pool.name, "admin": target.cluster.admin_user}
        raise InvalidTarget({"user": [text % names]})
    if target.login != target.cluster.admin_user and target.cluster.password_of(target.login) is None:
        raise InvalidTarget(
            {
                field: [
                    _("the panel does not know the password of role %(login)s: give it with a pool of that user")
                    % {"login": target.login}
                ]
            }
        )


def endpoint_of(run: Run) -> Endpoint:
    """Return the endpoint that the run's program logs in to.

    Raises `InvalidTarget` where its cluster, pool or external endpoint was removed, or its address is not allowed.
    """
    if run.is_external:
        return _external_endpoint(run)
    if run.cluster is None:
        raise InvalidTarget({"cluster": [_("the cluster of %(target)s was removed") % {"target": run.target_label}]})
    if run.pool is None and run.pooled:
        raise InvalidTarget({"pool": [_("the pool %(target)s was removed") % {"target": run.target_label}]})
    endpoint = endpoints.for_panel(run.pool) if run.pool else endpoints.of_cluster(run.cluster, run.database)
    return endpoints.as_role(endpoint, run.cluster, run.role) if run.role else endpoint


def _external_endpoint(run: Run) -> Endpoint:
    if run.external is None:
        raise InvalidTarget(
            {"external": [_("the external endpoint %(target)s was removed") % {"target": run.target_label}]}
        )
    if refusal := addresses.refusal(run.external.host, run.external.port):
        raise InvalidTarget({"external": [refusal]})
    return run.external.endpoint


@contextmanager
def session(target: Target) -> Iterator[connect.Connection]:
    """Open a session on the target's server: as the panel's admin, or through an external endpoint as its own login.

    Raises `ClusterUnreachable` (of the pools app) and `InvalidTarget`.
    """
    if target.external is not None:
        opened = connect.connect_endpoint(target.external.endpoint)
    elif target.cluster is not None:
        opened = connect.connect(target.cluster)
    else:
        raise InvalidTarget({"cluster": [_("the cluster of %(label)s was removed") % {"label": target.label}]})
    with opened as connection:
        yield connection


OpenSession = Callable[[], connect.Connection]


@contextmanager
def admin_session(target: Target, database: str | None) -> Iterator[OpenSession]:
    """Yield a function that returns one session of the panel's admin; its first call logs in, the end closes it.

    All checks of a request share it. `database` is the cluster's maintenance database where None. The function raises
    `ClusterUnreachable` (of the pools app), and `InvalidTarget` where no cluster is registered behind the target.
    """
    with ExitStack() as stack:

        @cache
        def session() -> connect.Connection:
            return stack.enter_context(connect.connect(cluster_of(target), database=database))

        yield session


def cluster_of(target: Target) -> Cluster:
    """Return the registered cluster behind the target; raise `InvalidTarget` where there is none."""
    if target.cluster is None:
        raise InvalidTarget(
            {
                "external": [
                    _("no cluster is registered behind %(label)s: register it and name it there")
                    % {"label": target.label}
                ]
            }
        )
    return target.cluster


def past_the_pooler(target: Target) -> Target:
    """Return the same database of the same cluster, directly as the same role; raise `InvalidTarget`."""
    cluster = cluster_of(target)
    if target.pool is None and target.external is None:
        raise InvalidTarget(
            {"pool": [_("a pair compares a pool with its cluster: name the pool or external endpoint")]}
        )
    direct = Target(cluster, target.database, role=_role(target.login, cluster))
    _check_login(direct)
    return direct


def of_run(run: Run) -> Target:
    """Return the target of a run, as it is now."""
    return Target(run.cluster, run.database, pool=run.pool, role=run.role, external=run.external)
