"""Finds pools whose PgBouncer has an outdated SCRAM verifier, and marks them to be applied anew.

A password that is set again at the server, even the same one, gets another salt, and a PgBouncer before 1.26 that has
the old verifier can no longer log in (see `pools.poolers.pgbouncer.userlist`). The apply reads the new one; where the
panel doesn't know the new password, the pool's reason reports it.
"""

import hashlib
import logging
from collections.abc import Mapping
from uuid import UUID

from django.utils.translation import gettext as _

from pools.deployment import live_files
from pools.models import AS_APPLIED, ClusterStatus, Pool, Pooler, PoolState
from pools.poolers import driver
from pools.poolers.pgbouncer import userlist

logger = logging.getLogger(__name__)
Digests = dict[tuple[UUID, str], str]  # (cluster, role) → of what the server keeps of its password


def digests() -> Digests:
    """Return the digests that the last checks found; without roles whose password the panel's login may not read."""
    rows = ClusterStatus.objects.values_list("cluster_id", "roles")
    return {
        (cluster_id, role["name"]): role["password_digest"]
        for cluster_id, roles in rows
        for role in roles
        if role.get("password_digest")
    }


def mark(before: Mapping[tuple[UUID, str], str], now: Mapping[tuple[UUID, str], str]) -> None:
    """Mark pools as pending whose role's password changed between two checks of their cluster."""
    for (cluster_id, role), digest in now.items():
        if before.get((cluster_id, role), digest) == digest:
            continue
        pools = Pool.objects.wanted().filter(cluster_id=cluster_id, user=role, state__in=AS_APPLIED)
        poolers = Pooler.objects.filter(pools__in=pools).distinct()
        stale = [pooler for pooler in poolers if _is_stale(pooler, role, digest)]
        if stale:
            logger.warning("cluster %s: the password of %s was changed on the server", cluster_id, role)
            reason = _("the password of %(role)s was changed on the server") % {"role": role}
            pools.filter(pooler__in=stale).update(state=PoolState.PENDING, state_reason=reason)


def _is_stale(pooler: Pooler, role: str, digest: str) -> bool:
    """Return whether its live files have a verifier of the role that differs from the server's."""
    secret = driver(pooler).stored_secret(live_files.settled_texts(pooler), role)
    return userlist.is_verifier(secret) and hashlib.sha256(secret.encode()).hexdigest() != digest
