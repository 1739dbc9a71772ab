"""Registers, changes and removes clusters; each write logs in first and reports the result."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TypedDict
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.accounts.models import FIRST_TEAM, Team
from core.lib import addresses
from pools import task_queue
from pools.approvals.acts import REMOVE_CLUSTER
from pools.approvals.holding import held_back
from pools.clusters import ca_files, connect, health_check
from pools.clusters.replication import Finding
from pools.errors import ClusterUnreachable, IllegalTransition, InvalidValues
from pools.inventory import entries
from pools.models import Cluster, ClusterCreation, ClusterState, ClusterStatus, Pool, SslMode, identifiers

logger = logging.getLogger(__name__)

FIELDS = (
    "name",
    "host",
    "port",
    "admin_user",
    "maintenance_database",
    "sslmode",
    "sslrootcert",
    "memory_mb",
    "vcpus",
    "disk_gb",
    "set_aside_connections",
    "protected",
)
ADDRESS = ("host", "port", "admin_user")  # A stored password is bound to these.
RENDERED = ("host", "port", "admin_user", "sslmode", "sslrootcert")  # Configurations of poolers contain these.
NEEDS_AUTHORITY = {SslMode.VERIFY_CA, SslMode.VERIFY_FULL}
LARGEST = 2_147_483_647  # limit of the integer column


class InvalidCluster(InvalidValues):
    """The values for a cluster are invalid."""


class ClusterValues(TypedDict, total=False):
    """The fields that `register` and `change` accept; those left out keep their value or their default."""

    name: str
    host: str
    port: int
    admin_user: str
    admin_password: str | None  # empty: the stored one stays
    maintenance_database: str
    sslmode: str
    sslrootcert: str
    memory_mb: int | None
    vcpus: int | None
    disk_gb: int | None
    set_aside_connections: int
    protected: bool


def register(
    values: ClusterValues, *, team: Team | None = None, author: Model | None = None, must_log_in: bool = False
) -> tuple[Cluster, ClusterStatus]:
    """Save a new cluster (the contract's fields, with `admin_password`) after trying to log in.

    An unreachable one is saved too and its status says why, unless the login must succeed: then it raises
    `ClusterUnreachable` and saves nothing. Raises `InvalidCluster`. The default of the connections set aside is
    POOLDECK_CONNECTION_RESERVE: pools that fill a server would lock out people and runs.
    """
    cluster = new(values, team=team)
    found = health_check.inspect(cluster)
    _refuse_unreachable(cluster, found, must_log_in)
    return cluster, save_new(cluster, found, author)


def new(values: ClusterValues, key: UUID | None = None, *, team: Team | None = None) -> Cluster:
    """Return an unsaved cluster of `team`, or of the first one, with that id where one is given.

    Raises `InvalidCluster`.
    """
    fields: dict[str, object] = {name: value for name, value in values.items() if name in FIELDS}
    fields |= {"id": key} if key else {}
    fields["team_id"] = team.pk if team else FIRST_TEAM
    cluster = Cluster(**({"set_aside_connections": settings.CONNECTION_RESERVE} | fields))
    InvalidCluster.refuse(_problems(cluster, values.get("admin_password") or ""))
    cluster.admin_password = values.get("admin_password") or ""
    return cluster


def save_new(cluster: Cluster, found: Finding, author: Model | None = None) -> ClusterStatus:
    """Save the cluster with what its inspection found; raises `InvalidCluster` where its name is taken."""
    with transaction.atomic():
        InvalidCluster.refuse(_name_taken(cluster))
        cluster.save(force_insert=True)
        status = health_check.record(cluster, found)
    entries.find_clusters()
    logger.info("cluster %s registered by %s: %s", cluster.pk, author, status.state)
    return status


def change(
    cluster: Cluster,
    values: ClusterValues,
    expected_version: int | None,
    *,
    author: Model | None = None,
    must_log_in: bool = False,
) -> tuple[Cluster, ClusterStatus]:
    """Write the given fields over the cluster's, then check it.

    Without `admin_password` the stored one stays, unless host, port or admin user change: a stored password never
    goes to another address. Role passwords follow the cluster (pools survive a failover), because a new address
    requires the admin's password again. Raises `InvalidCluster`, `Stale` when the cluster was edited since
    `expected_version` (None: not checked), and `ClusterUnreachable` when the login must succeed and does not.
    """
    before = Cluster.objects.get(pk=cluster.pk)
    desired = Cluster.objects.get(pk=cluster.pk)
    for name in FIELDS:
        setattr(desired, name, values.get(name, getattr(desired, name)))
    password = values.get("admin_password") or ""
    checks = (_problems(desired, password), _password_missing(before, desired, password), _name_taken(desired))
    InvalidCluster.refuse(chain(*checks))
    if password:
        desired.admin_password = password
    found = health_check.inspect(desired)
    _refuse_unreachable(desired, found, must_log_in)
    with _unique_name(desired), transaction.atomic():
        written = {name: getattr(desired, name) for name in (*FIELDS, "sealed_admin_password")}
        cluster.edit(expected_version, **written)
        _render_pools_again(before, cluster, author)
        status = health_check.record(cluster, found)
    logger.info("cluster %s changed by %s: %s", cluster.pk, author, status.state)
    return cluster, status


def _refuse_unreachable(cluster: Cluster, found: Finding, must_log_in: bool) -> None:
    if must_log_in and found["state"] == ClusterState.UNREACHABLE:
        # its own error has details that must not be stored
        connect.connect(cluster, at=(cluster.host, cluster.port)).close()
        raise ClusterUnreachable(found["error"])


@held_back(REMOVE_CLUSTER)
def remove(cluster: Cluster, *, author: Model | None = None) -> None:
    """Delete the cluster's record; nothing on the server changes. Raises `IllegalTransition` while it has pools."""
    with transaction.atomic():
        names = list(Pool.objects.filter(cluster=cluster).order_by("name").values_list("name", flat=True))
        if names:
            text = ngettext(
                "cluster %(cluster)s still has %(count)s pool (%(pools)s): remove it first",
                "cluster %(cluster)s still has %(count)s pools (%(pools)s): remove them first",
                len(names),
            )
            params = {"cluster": cluster, "count": len(names), "pools": _listed(names)}
            raise IllegalTransition(text % params)
        cluster.delete()
    logger.info("cluster %s removed by %s", cluster, author)


def _listed(names: list[str], most: int = 5) -> str:
    listed = ", ".join(names[:most])
    if (more := len(names) - most) > 0:
        text = ngettext("%(names)s and %(count)s more", "%(names)s and %(count)s more", more)
        return text % {"names": listed, "count": more}
    return listed


def _problems(cluster: Cluster, password: str) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for every invalid value."""
    checks = {
        "name": identifiers.identifier_problem(cluster.name),
        "host": identifiers.host_problem(cluster.host) or addresses.refusal(cluster.host, cluster.port),
        "admin_user": identifiers.identifier_problem(cluster.admin_user),
        "maintenance_database": identifiers.identifier_problem(cluster.maintenance_database),
        "sslrootcert": ca_files.problem(cluster.sslrootcert) if cluster.sslrootcert else "",
        "admin_password": _("the password contains a NUL, which PostgreSQL does not accept")
        if "\0" in password
        else "",
    }
    yield from ((field, message) for field, message in checks.items() if message)
    yield from _number_problems(cluster)
    if cluster.sslmode not in SslMode.values:
        text = _("%(sslmode)r is not an sslmode: choose one of %(choices)s")
        yield "sslmode", text % {"sslmode": cluster.sslmode, "choices": ", ".join(SslMode.values)}
    if cluster.sslmode in NEEDS_AUTHORITY and not cluster.sslrootcert:
        text = _("sslmode %(sslmode)s needs the certificate authority: paste its PEM text, or choose require")
        yield "sslrootcert", text % {"sslmode": cluster.sslmode}


def _number_problems(cluster: Cluster) -> Iterator[tuple[str, str]]:
    if not 1 <= cluster.port <= 65535:
        yield "port", _("%(port)s is not a port: enter a number from 1 to 65535") % {"port": cluster.port}
    for field in ("memory_mb", "vcpus", "disk_gb", "set_aside_connections"):
        number = getattr(cluster, field)
        if number is not None and not 0 <= number <= LARGEST:
            text = _("%(number)s is out of range: use 0 to %(largest)s")
            yield field, text % {"number": number, "largest": LARGEST}


def _password_missing(before: Cluster, desired: Cluster, password: str) -> Iterator[tuple[str, str]]:
    moved = any(getattr(before, name) != getattr(desired, name) for name in ADDRESS)
    if moved and before.sealed_admin_password and not password:
        old, new = (f"{cluster.admin_user}@{cluster.host}:{cluster.port}" for cluster in (before, desired))
        text = _("the stored password belongs to %(old)s: enter the password of %(new)s")
        yield "admin_password", text % {"old": old, "new": new}


def name_taken(name: str) -> str:
    """Return the sentence for a name that is taken, of which it says no more than that."""
    return _("the name %(name)r is taken: choose another name") % {"name": name}


def _name_taken(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield the same for a cluster and one that is being created, which may be of a team that nobody here sees."""
    rows = (Cluster.objects.all(), ClusterCreation.objects.creating())
    if any(one.filter(name=cluster.name).exclude(pk=cluster.pk).exists() for one in rows):
        yield "name", name_taken(cluster.name)


@contextmanager
def _unique_name(cluster: Cluster) -> Iterator[None]:
    """Raise the same `InvalidCluster` when the name was taken while the server was queried."""
    try:
        yield
    except IntegrityError:
        InvalidCluster.refuse(_name_taken(cluster))
        raise


def _render_pools_again(before: Cluster, after: Cluster, author: Model | None) -> None:
    password_changed = before.sealed_admin_password != after.sealed_admin_password
    if password_changed or any(getattr(before, name) != getattr(after, name) for name in RENDERED):
        task_queue.ask_again(after.pools.all(), author)
