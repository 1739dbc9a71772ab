"""Keeps clusters ready on the shelf, and lets API clients claim them."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypedDict

from django.db import transaction
from django.db.models import Model, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from pools.errors import IllegalTransition, InvalidValues, PoolsError
from pools.inventory import clusters
from pools.models import Cluster, ClusterCreation, ClusterStatus, Pooler, ShelfEntry
from pools.models.shelf import ShelfEntryQuerySet

logger = logging.getLogger(__name__)

FIELDS = ("size", "region", "pooler", "drop_on_return")
MIB_PER_GB = 1024
VERSION_NUM = 10_000  # PostgreSQL 15.4 is 150004
_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")  # Terraform compares regions in lower case


class InvalidEntry(InvalidValues):
    """The values for an entry of the shelf are invalid."""


class ShelfValues(TypedDict, total=False):
    """The fields that `put` and `change` accept; those left out keep their value or their default."""

    size: str
    region: str
    pooler: Pooler | None
    drop_on_return: bool


class NameTaken(InvalidValues):
    """Another cluster has the wanted name."""

    status = 409


class NoneFits(PoolsError):
    """No free cluster of the shelf is what the client asks for."""


@dataclass(frozen=True)
class ClusterRequest:
    """A client's request for a cluster; empty texts and None: any. `version` is the major release, such as 15."""

    name: str
    size: str = ""
    region: str = ""
    version: str = ""
    nodes: int | None = None
    tags: list[str] = field(default_factory=list)
    storage_mib: int | None = None


def put(cluster: Cluster, values: ShelfValues, author: Model | None = None) -> ShelfEntry:
    """Put a registered cluster on the shelf: `size` and `region`, optionally `pooler` and `drop_on_return`.

    Raises `InvalidEntry`, also for a cluster that has pools, or is on the shelf already.
    """
    entry = ShelfEntry(cluster=cluster, name=cluster.name, **_fields(values))
    InvalidEntry.refuse(_problems(entry))
    with transaction.atomic():
        InvalidEntry.refuse(_not_free(cluster))
        entry.save(force_insert=True)
    logger.info("cluster %s put on the shelf by %s", cluster.pk, author)
    return entry


def change(entry: ShelfEntry, values: ShelfValues, author: Model | None = None) -> ShelfEntry:
    """Write the given fields over the entry's, claimed or not. Raises `InvalidEntry`."""
    fields = _fields(values)
    for name, value in fields.items():
        setattr(entry, name, value)
    InvalidEntry.refuse(_problems(entry))
    entry.save(update_fields=list(fields))
    logger.info("shelf entry of cluster %s changed by %s", entry.pk, author)
    return entry


def _fields(values: ShelfValues) -> dict[str, object]:
    return {name: value for name, value in values.items() if name in FIELDS}


def take_off(entry: ShelfEntry, author: Model | None = None) -> None:
    """Remove the cluster from the shelf; it stays registered. Raises `IllegalTransition` while it is claimed."""
    if not ShelfEntry.objects.filter(pk=entry.pk, claimed_at=None).delete()[0]:
        text = _("cluster %(cluster)s is claimed: it can be taken off the shelf once its client has deleted it")
        raise IllegalTransition(text % {"cluster": entry.cluster})
    logger.info("cluster %s taken off the shelf by %s", entry.pk, author)


def claim(wanted: ClusterRequest, author: Model | None = None, free: ShelfEntryQuerySet | None = None) -> ShelfEntry:
    """Give a cluster that fits to the author, under the wanted name; of the `free` ones, where these are not all.

    The panel logs in to it first; one that does not answer is given too, and its status says so. Raises `NameTaken`,
    `NoneFits`, and `InvalidCluster` for an impossible name.
    """
    NameTaken.refuse(_name_taken(wanted.name))
    entry = _claim_entry(wanted, author, ShelfEntry.objects.free() if free is None else free)
    try:
        clusters.change(entry.cluster, {"name": wanted.name}, None, author=author)
    except PoolsError:
        _free(entry)
        raise
    entry.kept = _present(entry.cluster)
    entry.save(update_fields=["kept"])
    logger.info("cluster %s (%s) claimed as %r by %s", entry.pk, entry.name, wanted.name, author)
    return entry


def put_claimed(cluster: Cluster, creation: ClusterCreation, values: ShelfValues) -> ShelfEntry:
    """Put a cluster that was created for a client on the shelf, claimed by that client; `values` as for `put`.

    Its name there is not its client's, who may want that name again after a return.
    """
    claimed = {"claimed_at": creation.created_at, "claimed_by": creation.author, "tags": creation.tags}
    name = f"{creation.size[:54]}-{cluster.key[:8]}"
    entry = ShelfEntry(cluster=cluster, name=name, **values, **claimed, kept=_present(cluster))
    entry.save(force_insert=True)
    return entry


def release(entry: ShelfEntry, author: Model | None = None) -> None:
    """Make a claimed cluster free again under its own name; its server is not changed.

    No-op where another request has returned it since the entry was read: somebody else may have claimed it by now.
    """
    with transaction.atomic():
        if not _free(entry):
            return
        is_name_taken = Cluster.objects.filter(name=entry.name).exclude(pk=entry.pk).exists()
        name = f"{entry.name[:54]}-{entry.cluster.key[:8]}" if is_name_taken else entry.name
        entry.cluster.edit(None, name=name)
    logger.info("cluster %s returned to the shelf by %s", entry.pk, author)


def _claim_entry(wanted: ClusterRequest, author: Model | None, free: ShelfEntryQuerySet) -> ShelfEntry:
    fitting = [entry for entry in free.filter(_asked(wanted)) if _is_as_large(entry, wanted)]
    for entry in sorted(fitting, key=lambda one: one.name != wanted.name):
        claimed = {"claimed_at": timezone.now(), "claimed_by": author, "tags": wanted.tags}
        if ShelfEntry.objects.filter(pk=entry.pk, claimed_at=None).update(**claimed):
            entry.refresh_from_db()
            return entry
    raise NoneFits(_why_none(wanted))


def _free(entry: ShelfEntry) -> bool:
    """End this claim; return whether it had not ended before."""
    claim_of_entry = ShelfEntry.objects.filter(pk=entry.pk, claimed_at=entry.claimed_at)
    is_ended = bool(claim_of_entry.update(claimed_at=None, claimed_by=None, tags=[], kept={}))
    if is_ended:
        Cluster.objects.filter(pk=entry.pk).update(maintenance_window={})  # it was its client's
    return is_ended


def _asked(wanted: ClusterRequest) -> Q:
    condition = Q()
    for name in ("size", "region"):
        if value := getattr(wanted, name):
            condition &= Q(**{f"{name}__iexact": value})
    if wanted.version:
        major = int(wanted.version) if wanted.version.isdigit() and len(wanted.version) < 4 else 0
        versions = (major * VERSION_NUM, (major + 1) * VERSION_NUM - 1)
        condition &= Q(cluster__status__server_version_num__range=versions)
    return condition


def _is_as_large(entry: ShelfEntry, wanted: ClusterRequest) -> bool:
    storage_mib = (entry.cluster.disk_gb or 0) * MIB_PER_GB
    has_nodes = wanted.nodes is None or wanted.nodes == 1 + entry.cluster.nodes.count()
    return has_nodes and wanted.storage_mib in (None, storage_mib)


def _why_none(wanted: ClusterRequest) -> str:
    text = _(
        "no free cluster fits size %(size)s, region %(region)s, version %(version)s, %(nodes)s nodes and "
        "storage_size_mib %(storage_mib)s: the shelf has %(free)s; ask an admin of the panel to put one there"
    )
    terms = {name: getattr(wanted, name) or _("any") for name in ("size", "region", "version", "nodes", "storage_mib")}
    return text % {
        **terms,
        "free": ", ".join(_label(entry) for entry in ShelfEntry.objects.free()[:5]) or _("none"),
    }


def _label(entry: ShelfEntry) -> str:
    status = getattr(entry.cluster, "status", None) or ClusterStatus(cluster=entry.cluster)
    return f"{entry.size}/{entry.region}/{status.server_version.partition('.')[0] or '?'}"


def _present(cluster: Cluster) -> dict[str, list[str]]:
    """List the databases and roles that the last check found; nothing where none ever succeeded."""
    status = ClusterStatus.objects.filter(cluster=cluster).exclude(server_version_num=None).first()
    if status is None:
        return {}
    return {
        "databases": [database["name"] for database in status.databases],
        "roles": [role["name"] for role in status.roles],
    }


def _problems(entry: ShelfEntry) -> Iterator[tuple[str, str]]:
    for name in ("size", "region"):
        if not _SLUG.fullmatch(value := getattr(entry, name)):
            text = _(
                "%(value)r can't be asked for: use 1 to 63 lower-case letters, digits and . _ -, such as %(example)s"
            )
            example = "db-s-1vcpu-2gb" if name == "size" else "nyc1"
            yield name, text % {"value": value, "example": example}
    if entry.pooler is not None and not isinstance(entry.pooler, Pooler):
        yield "pooler", _("choose a pooler that is registered, or none")


def _not_free(cluster: Cluster) -> Iterator[tuple[str, str]]:
    if ShelfEntry.objects.filter(cluster=cluster).exists():
        yield "cluster", _("cluster %(cluster)s is on the shelf already: change its entry") % {"cluster": cluster}
    if names := ", ".join(cluster.pools.values_list("name", flat=True)[:5]):
        text = _("cluster %(cluster)s has pools (%(pools)s), so it is in use: remove them first")
        yield "cluster", text % {"cluster": cluster, "pools": names}


def _name_taken(name: str) -> Iterator[tuple[str, str]]:
    if (
        Cluster.objects.filter(name=name).exclude(shelf_entry__name=name, shelf_entry__claimed_at=None).exists()
        or ClusterCreation.objects.creating().filter(name=name).exists()
    ):
        yield "name", clusters.name_taken(name)
