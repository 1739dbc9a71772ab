"""Returns a claimed cluster to the shelf: without its pools, and on request without what was created; or deletes it."""

import logging
import time

from django.db.models import Model
from django.utils.translation import gettext as _

from core.audit.acts import recorded
from pools.approvals.acts import GIVE_BACK_CLUSTER
from pools.approvals.holding import held_back
from pools.errors import IllegalTransition
from pools.inventory import creations, pools, settlement, shelf
from pools.models import Cluster, ShelfEntry
from pools.provisioning import databases, roles

logger = logging.getLogger(__name__)

REMOVED_WITHIN_S = 20.0


@held_back(GIVE_BACK_CLUSTER)
@recorded("shelf_entry.return")
def give_back(cluster: Cluster, author: Model | None = None) -> None:
    """Return the cluster to the shelf, without its pools; or delete it, where the operator has a command for that.

    Its databases and roles stay, unless its entry says that those created since the claim are dropped. Raises
    `IllegalTransition` for a cluster that is not claimed, or whose pools are still being removed after 20 s, and what
    the drops raise, such as `DropBlocked`: the cluster stays claimed then, and the call can be repeated.
    """
    entry = ShelfEntry.objects.filter(cluster=cluster).exclude(claimed_at=None).first()
    if entry is None:
        text = _("cluster %(cluster)s was registered in the panel, not claimed from the shelf: remove it on its page")
        raise IllegalTransition(text % {"cluster": cluster})
    is_deleted = creations.deletes(cluster)
    for pool in cluster.pools.wanted():
        pools.remove(pool, author)
    if is_deleted:
        _refuse_leftovers(cluster)
        creations.request_deletion(cluster, author)
        return
    if entry.drop_on_return:
        _refuse_leftovers(cluster)
        _drop_what_is_new(entry, author)
    shelf.release(entry, author)


def _refuse_leftovers(cluster: Cluster) -> None:
    """Wait for the removal of the pools: their connections would block the drops."""
    deadline = time.monotonic() + REMOVED_WITHIN_S
    for pool in list(cluster.pools.all()):
        if settlement.wait_for_pool(pool, deadline - time.monotonic()) is not None:
            text = _("pool %(pool)s of cluster %(cluster)s is still being removed: delete the cluster again")
            raise IllegalTransition(text % {"pool": pool, "cluster": cluster})


def _drop_what_is_new(entry: ShelfEntry, author: Model | None) -> None:
    """Drop what the claim's check did not find; where that check failed, nothing is known to be new."""
    if not entry.kept:
        logger.warning("cluster %s: nothing is dropped, because its contents at the claim are unknown", entry.pk)
        return
    for database in databases.list_all(entry.cluster):
        if database.name not in entry.kept["databases"]:
            databases.drop(entry.cluster, database.name, author)
    for role in roles.list_all(entry.cluster):
        if role.name not in entry.kept["roles"]:
            roles.drop(entry.cluster, role.name, author)
