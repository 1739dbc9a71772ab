"""Who stands in userlist.txt with which password: one of each name, for all the pools of a PgBouncer.

All in clear at first; `verifiers` says whose is replaced by the server's SCRAM verifier, and when it may be.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from uuid import UUID

from django.utils.translation import gettext as _

from pools.models import Cluster, Pool, Pooler, RolePassword, identifiers
from pools.poolers.base import Rejected
from pools.poolers.pgbouncer import verifiers
from pools.poolers.pgbouncer.database_entries import Entry, Found

Secrets = dict[str, str]


def secrets_of(
    pooler: Pooler,
    staying: Iterable[Entry],
    asked: Iterable[tuple[Pool, Entry]],
    kept: Mapping[str, str],
    before: Mapping[str, str],
    found: Found,
) -> Secrets:
    """Return user → password of the operator's part (`kept`), the console's admin and the role of each entry.

    A pool that is `asked` for anew brings its role's password of now, any other the one that is live (`before`). Raises
    `Rejected` for a pool whose role has another password already.
    """
    secrets = {pooler.admin_user: pooler.admin_password, **kept}
    brought = {(entry.role, entry.password): entry for entry in staying}
    live = ((entry, _live(role, secret, kept, before)) for (role, secret), entry in brought.items())
    now = ((entry, entry.password or found.password(pool, entry.role)) for pool, entry in asked)
    for entry, secret in chain(live, now):
        role = entry.role
        if secrets.setdefault(role, secret) != secret:
            raise Rejected(
                _(
                    "pooler %(pooler)s already keeps another password for %(role)s, and PgBouncer has one for "
                    "each name: give pool %(name)s a user of its own, or %(role)s the same password everywhere"
                )
                % {"pooler": pooler, "role": role, "name": entry.name},
                UUID(entry.pool),
            )
    return secrets


def _live(role: str, of_entry: str, kept: Mapping[str, str], before: Mapping[str, str]) -> str:
    """Return a role's live password in clear: its entry's, where userlist.txt has a verifier."""
    listed = before.get(role, "")
    return of_entry if of_entry and (not listed or verifiers.is_verifier(listed)) else listed or kept.get(role, "")


def remembered(known: Iterable[str], clusters: Iterable[Cluster]) -> Secrets:
    """Return roles that PgBouncer has had in userlist.txt since its start (`known`), with their passwords.

    Taken out of the file, a user stays in its memory without a password, and auth_query is never asked for it
    (seen on 1.18): for as long as a pool of the inbound user leads to its cluster, it must stay in the file.
    """
    roles = RolePassword.objects.filter(cluster__in=set(clusters), role__in=list(known))
    return {one.role: one.password for one in roles if not identifiers.password_problem(one.password)}
