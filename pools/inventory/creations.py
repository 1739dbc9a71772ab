"""Requests clusters of the operator's commands, and records what the commands made."""

import logging
import re

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _

from core.accounts.models import Team
from core.installation import pausing
from pools import task_queue
from pools.clusters import health_check
from pools.errors import ClusterUnreachable, IllegalTransition
from pools.inventory import clusters, create_file, shelf
from pools.inventory.clusters import ClusterValues
from pools.inventory.create_file import CreateEntry
from pools.inventory.shelf import ClusterRequest, NameTaken, NoneFits, ShelfValues
from pools.models import Cluster, ClusterCreation, ClusterState, CreationState, Pooler, identifiers

logger = logging.getLogger(__name__)
MAJOR = re.compile("[1-9][0-9]?")


def request(wanted: ClusterRequest, author: User | None = None, team: Team | None = None) -> ClusterCreation | None:
    """Queue the command that creates such a cluster for `team`, or for the first one.

    None where there is no POOLDECK_CREATE_FILE.

    Raises `NoneFits` where the file does not offer it, `NameTaken`, `InvalidCluster` for an impossible name,
    `InvalidCreateFile`, and `IllegalTransition` while the panel is paused.
    """
    if not (offers := create_file.entries()):
        return None
    fitting = [one for one in offers if one.offers(wanted.size, wanted.region, wanted.version)]
    if not fitting or not _can_be_asked_for(wanted):
        raise NoneFits(_why_none(wanted, offers))
    entry = fitting[0]
    if pausing.is_paused():
        raise IllegalTransition(pausing.PAUSED)
    if problem := identifiers.identifier_problem(wanted.name):
        raise clusters.InvalidCluster({"name": [problem]})
    creation = ClusterCreation(name=wanted.name, author=author, team=team, tags=wanted.tags, nodes=wanted.nodes or 1)
    creation.size, creation.region, creation.version = entry.size, entry.region, entry.version_for(wanted.version)
    _save_new(creation)
    task_queue.request_commands()
    logger.info("cluster %s (%r) will be created for %s", creation.pk, creation.name, author)
    return creation


def withdraw(creation: ClusterCreation, author: Model | None = None) -> bool:
    """Delete a cluster that is not there yet, or failed: once its command ends, it is returned like any other.

    Returns False where it has been created meanwhile.
    """
    unfinished = ClusterCreation.objects.unfinished().filter(pk=creation.pk)
    is_withdrawn = unfinished.queued().delete()[0] or unfinished.update(removal_requested_at=timezone.now())
    if is_withdrawn:
        logger.info("cluster %s withdrawn by %s before it was created", creation.pk, author)
    return bool(is_withdrawn)


def dismiss(creation: ClusterCreation) -> bool:
    """Forget a creation that failed; return False where it did not."""
    return bool(ClusterCreation.objects.filter(pk=creation.pk, state=CreationState.FAILED).delete()[0])


def deletes(cluster: Cluster) -> bool:
    """Tell whether the operator has a command that deletes this cluster. Raises `InvalidCreateFile`."""
    creation = ClusterCreation.objects.filter(cluster=cluster).first()
    return bool(creation and (entry := entry_of(creation)) and entry.delete)


def request_deletion(cluster: Cluster, author: Model | None = None) -> None:
    """Queue the command that deletes the cluster; clients see it no more. No-op where that is due already."""
    deletable = (CreationState.CREATED, CreationState.NOT_DELETED)
    settled = ClusterCreation.objects.filter(cluster=cluster, state__in=deletable)
    due = {"state": CreationState.DELETING, "reason": "", "requested_at": timezone.now()}
    if settled.update(**due):
        task_queue.request_commands()
        logger.info("cluster %s will be deleted for %s", cluster.pk, author)


def entry_of(creation: ClusterCreation) -> CreateEntry | None:
    """Return the table of the file that is for it; None where the operator removed it. Raises `InvalidCreateFile`."""
    return create_file.offering(creation.size, creation.region, creation.version)


def complete(creation: ClusterCreation, entry: CreateEntry, values: ClusterValues) -> Cluster | None:
    """Register the created cluster under the creation's id, claimed by its client; None where the lease was lost.

    `values` are those of `clusters.register` without the name. Raises `ClusterUnreachable` where the login fails, and
    `InvalidCluster`; then nothing is saved.
    """
    cluster = clusters.new({**values, "name": _free_name(creation)}, creation.pk, team=creation.team)
    found = health_check.inspect(cluster)
    if found["state"] != ClusterState.ONLINE:
        raise ClusterUnreachable(found["error"])
    with transaction.atomic():
        if not creation.settle(CreationState.CREATED):
            return None
        clusters.save_new(cluster, found, creation.author)
        ClusterCreation.objects.filter(pk=creation.pk).update(cluster=cluster)
        shelf.put_claimed(cluster, creation, _shelf_values(entry, creation))
    return cluster


def _shelf_values(entry: CreateEntry, creation: ClusterCreation) -> ShelfValues:
    pooler = Pooler.objects.filter(name=entry.pooler).first() if entry.pooler else None
    if entry.pooler and pooler is None:
        logger.warning("cluster %s: there is no pooler %r, which its table names", creation.pk, entry.pooler)
    return {"size": entry.size, "region": entry.region, "pooler": pooler, "drop_on_return": entry.drop_on_return}


def _can_be_asked_for(wanted: ClusterRequest) -> bool:
    is_major = not wanted.version or MAJOR.fullmatch(wanted.version) is not None
    return is_major and (wanted.nodes is None or wanted.nodes > 0) and wanted.storage_mib is None


def _why_none(wanted: ClusterRequest, offers: list[CreateEntry]) -> str:
    text = _(
        "no free cluster of the shelf fits size %(size)s, region %(region)s, version %(version)s, %(nodes)s nodes "
        "and storage_size_mib %(storage_mib)s, and no command creates one: the commands are for %(offers)s, each with "
        "any storage"
    )
    terms = {name: getattr(wanted, name) or _("any") for name in ("size", "region", "version", "storage_mib")}
    labels = (f"{one.size}/{one.region}/{','.join(one.versions) or '*'}" for one in offers[:5])
    nodes = _("any") if wanted.nodes is None else wanted.nodes
    return text % {**terms, "nodes": nodes, "offers": ", ".join(labels)}


def _save_new(creation: ClusterCreation) -> None:
    try:
        with transaction.atomic():
            creation.save(force_insert=True)
    except IntegrityError:
        raise NameTaken({"name": [clusters.name_taken(creation.name)]}) from None


def _free_name(creation: ClusterCreation) -> str:
    """Return the wanted name, or one like it where another cluster got it since the request."""
    is_taken = Cluster.objects.filter(name=creation.name).exists()
    return f"{creation.name[:54]}-{creation.key[:8]}" if is_taken else creation.name
