"""CONNECTION LIMIT of a role or a database, beside the server connections that pools open (pg_roles, pg_database).

PostgreSQL holds no superuser to either (CREATE ROLE and CREATE DATABASE in its manual).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from django.utils.translation import gettext as _

from pools.models import Pool
from pools.poolers import driver

NONE = -1


class Limits(NamedTuple):
    """The connection limits of the role that a pool logs in as, and of its database."""

    of_role: int = NONE
    of_database: int = NONE


def faults(pool: Pool, limits: Limits) -> Iterator[str]:
    """Yield each limit that the connections of this pool alone exceed, with both figures and the remedy.

    The role that looks up inbound users needs one connection; those users' own limits are not looked at.
    """
    kind = driver(pool.pooler)
    needs = kind.needs(pool)
    params = {"role": kind.probing_role(pool), "database": pool.database, "needs": needs}
    if NONE < limits.of_role < (needs if pool.user else 1):
        yield _(
            "role %(role)s may have %(limit)s connections at once and the pool opens up to %(needs)s: raise its "
            "CONNECTION LIMIT, or make the pool smaller"
        ) % {**params, "limit": limits.of_role, "needs": needs if pool.user else 1}
    if NONE < limits.of_database < needs:
        yield _(
            "database %(database)s takes %(limit)s connections at once and the pool opens up to %(needs)s: raise its "
            "CONNECTION LIMIT, or make the pool smaller"
        ) % {**params, "limit": limits.of_database}


def asks_for_more(spec: Pool, before: Pool | None) -> bool:
    """Return whether a changed pool may meet a limit that it did not meet before; a new one always may."""
    if before is None or (spec.user, spec.database) != (before.user, before.database):
        return True
    return driver(spec.pooler).needs(spec) > driver(before.pooler).needs(before)


def pools_above(pools: Iterable[Pool], limit: int | None) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for the largest of these pools where a limit that is to be set is below what it opens."""
    largest = max(pools, key=lambda pool: driver(pool.pooler).needs(pool), default=None)
    needs = driver(largest.pooler).needs(largest) if largest else 0
    if limit is not None and NONE < limit < needs:
        text = _(
            "pool %(pool)s opens up to %(needs)s connections at once, more than %(limit)s: set a higher limit, or make "
            "the pool smaller first"
        )
        yield "connection_limit", text % {"pool": largest, "needs": needs, "limit": limit}
