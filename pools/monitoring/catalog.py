"""Compares the databases and roles that the last check found on a cluster with the pools that need them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from django.utils.translation import gettext as _

from pools.clusters import topology
from pools.inventory import connection_limits
from pools.inventory.connection_limits import Limits
from pools.models import Cluster, ClusterState, ClusterStatus, NodeRole, Pool
from pools.poolers import driver

Facts = Mapping[str, Mapping[str, Any]]  # name → facts


@dataclass(frozen=True)
class Catalog:
    """The databases and roles of a cluster at its last good check; `silence`: why its primary does not answer now."""

    cluster: Cluster
    silence: str = ""
    checked_at: datetime | None = None
    databases: Facts = field(default_factory=dict)
    roles: Facts = field(default_factory=dict)

    @classmethod
    def of(cls, cluster: Cluster) -> Self:
        """Read what the last checks recorded."""
        status = getattr(cluster, "status", None) or ClusterStatus(cluster=cluster)
        primary = topology.primary(cluster).found
        silence = primary.error if primary.state == ClusterState.UNREACHABLE else ""
        databases, roles = ({one["name"]: one for one in found} for found in (status.databases, status.roles))
        return cls(cluster, silence, status.checked_at, databases, roles)

    def digest(self, role: str) -> str:
        """Return the digest of what the server keeps of a role's password; empty where that can't be read."""
        return str(self.roles.get(role, {}).get("password_digest") or "")

    def fault(self, pool: Pool) -> str:
        """Return why clients can't use a pool for long, whatever its open connections still do; empty for nothing."""
        if self.silence and pool.target == NodeRole.PRIMARY:
            return _("cluster %(cluster)s does not answer: %(silence)s") % {
                "cluster": self.cluster,
                "silence": self.silence,
            }
        return next(self._faults(pool), "") if self._is_later_than(pool.proved_at) else ""

    def _is_later_than(self, proved_at: datetime | None) -> bool:
        """Return whether the check is newer than the last login through a pool: what it needs may be newer too."""
        if self.silence or self.checked_at is None or not self.databases:
            return False
        return proved_at is None or proved_at <= self.checked_at

    def _faults(self, pool: Pool) -> Iterator[str]:
        name = driver(pool.pooler).probing_role(pool)
        params = {"cluster": self.cluster, "database": pool.database, "role": name}
        database, role = self.databases.get(pool.database), self.roles.get(name)
        if database is None:
            yield (
                _(
                    "cluster %(cluster)s no longer has a database %(database)s: it was dropped or renamed; create it "
                    "again, or let the pool route to another"
                )
                % params
            )
        if role is None:
            yield (
                _(
                    "cluster %(cluster)s no longer has a role %(role)s: it was dropped or renamed; create it again, or "
                    "give the pool another user"
                )
                % params
            )
        if database is not None and role is not None:
            yield from _refusals(database, role, params)
            limits = Limits(*(one.get("connection_limit", connection_limits.NONE) for one in (role, database)))
            yield from () if role["superuser"] else connection_limits.faults(pool, limits)


def _refusals(database: Mapping[str, Any], role: Mapping[str, Any], words: dict[str, object]) -> Iterator[str]:
    if database.get("allow_connections") is False:
        yield _("database %(database)s takes no connections: ALTER DATABASE … ALLOW_CONNECTIONS true") % words
    if not role["can_login"]:
        yield _("role %(role)s may no longer log in: ALTER ROLE … LOGIN, or give the pool another user") % words
    if role.get("password_expired"):
        yield _("the password of role %(role)s has expired: ALTER ROLE … VALID UNTIL, or set a new one") % words
