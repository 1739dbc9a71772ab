"""Changing which acts on a cluster need a second person; asking for less is such an act itself."""

from collections.abc import Collection

from django.db.models import Model
from django.utils.translation import gettext as _

from pools.approvals.acts import CHANGE_RULES
from pools.approvals.holding import held_back
from pools.errors import InvalidValues
from pools.models import Act, ApprovalRules, Cluster

LARGEST = 2_147_483_647  # limit of the integer column


def of_cluster(cluster: Cluster) -> ApprovalRules:
    """Return the rules of a cluster; unsaved and empty where it has none."""
    return ApprovalRules.objects.filter(cluster=cluster).first() or ApprovalRules(cluster=cluster)


def change(
    cluster: Cluster, acts: Collection[str], pool_size: int | None, author: Model | None = None
) -> ApprovalRules:
    """Save the kinds of acts, and the size beyond which a pool needs a second person too (None: no size does).

    Raises `InvalidValues`, and `HeldBack` where the new rules ask for less than the old ones.
    """
    if unknown := set(acts) - set(Act.values):
        text = _("%(acts)s: choose from %(known)s")
        raise InvalidValues({"acts": [text % {"acts": ", ".join(sorted(unknown)), "known": ", ".join(Act.values)}]})
    if pool_size is not None and not 1 <= pool_size <= LARGEST:
        raise InvalidValues({"pool_size": [_("enter a number of connections, or leave it empty")]})
    return _change(cluster, [act for act in Act.values if act in acts], pool_size, author)


@held_back(CHANGE_RULES)
def _change(cluster: Cluster, acts: list[str], pool_size: int | None, author: Model | None = None) -> ApprovalRules:
    values = {"acts": acts, "pool_size": pool_size}
    return ApprovalRules.objects.update_or_create(cluster=cluster, defaults=values)[0]
