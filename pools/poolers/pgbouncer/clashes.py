"""Entries that a reload must first take away, since PgBouncer can't change them in place.

A fixed user is not lost by a reload ("losing forced user not supported", pgbouncer/pgbouncer#355; seen up to 1.26).
And a PgBouncer before 1.24 dies ("put_in_order: found existing elem", seen on 1.18) at the next login of a user to
an entry where it has a pool already, but was found otherwise then: looked up, listed in userlist.txt or [users], or
fixed in the entry. An entry that is gone for one reload forgets its pools; its clients have to log in again.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import Enum

from pools.poolers.catalogue import Version
from pools.poolers.pgbouncer.entries import Entry

TOLERANT = (1, 24)
Rows = Collection[Mapping[str, object]]


class FoundBy(Enum):
    """How PgBouncer comes to know a user of an entry."""

    LOOK_UP = "auth_query"
    LIST = "userlist.txt"
    ENTRY = "user="


def losing_their_user(databases: Rows, wanted: Iterable[Entry]) -> set[str]:
    """Names of entries that have a fixed user now (SHOW DATABASES) and shall have none."""
    userless = {entry.name for entry in wanted if not entry.user}
    return {str(row["name"]) for row in databases if row["name"] in userless and row["force_user"]}


def deadly(
    version: Version,
    pools: Rows,
    databases: Rows,
    wanted: Iterable[Entry],
    listed: Collection[str],
    listed_after: Collection[str],
) -> set[str]:
    """Names of entries, the operator's among them, with a pool (SHOW POOLS) whose user will be found otherwise.

    `listed` are the users that PgBouncer knows now (SHOW USERS), `listed_after` those that it will know.
    """
    if version >= TOLERANT:
        return set()
    names = {row["database"] for row in pools}
    forced = {str(name): row["force_user"] for row in databases if (name := row["name"]) in names}
    becoming = forced | {entry.name: entry.user or None for entry in wanted if entry.name in names}
    return {
        str(row["database"])
        for row in pools
        if _found(row, forced, listed) != _found(row, becoming, {*listed, *listed_after})
    }


def _found(pool: Mapping[str, object], forced: Mapping[str, object], listed: Collection[str]) -> FoundBy:
    name, user = str(pool["database"]), pool["user"]
    if forced.get(name) == user:
        return FoundBy.ENTRY
    return FoundBy.LIST if user in listed else FoundBy.LOOK_UP
