"""Entries that a reload must first take away, since PgBouncer can't change them in place.

A fixed user is not lost by a reload ("losing forced user not supported", pgbouncer/pgbouncer#355; seen up to 1.26).
And a PgBouncer before 1.24 dies ("put_in_order: found existing elem", seen on 1.18) at the next login of a user to
an entry where it has a pool already, but was found otherwise then: looked up, listed in userlist.txt or [users], or
fixed in the entry. An entry that is gone for one reload forgets its pools; its clients have to log in again.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import Enum

from pools.poolers.pgbouncer.database_entries import Entry
from pools.poolers.settings_schema import Version

TOLERANT = (1, 24)
Rows = Collection[Mapping[str, object]]
Forced = Mapping[object, object]  # name of an entry → its fixed user, as SHOW DATABASES has it


class FoundBy(Enum):
    """How PgBouncer comes to know a user of an entry."""

    LOOKUP = "auth_query"
    LIST = "userlist.txt"
    ENTRY = "user="


def possible(version: Version, wanted: Iterable[Entry]) -> bool:
    """Return whether either hazard is possible, so that the pooler's present state is needed."""
    return version < TOLERANT or not all(entry.user for entry in wanted)


def losing_their_user(forced: Forced, wanted: Iterable[Entry]) -> set[str]:
    """Return the names of entries that have a fixed user now and will have none."""
    return {entry.name for entry in wanted if not entry.user and forced.get(entry.name)}


def deadly(
    version: Version,
    pools: Rows,
    forced: Forced,
    wanted: Iterable[Entry],
    listed: Collection[str],
    listed_after: Collection[str],
) -> set[str]:
    """Return the names of entries, the operator's too, with a pool whose user will be found otherwise.

    `listed` are the users that PgBouncer knows now (SHOW USERS), `listed_after` those that it will know.
    """
    if version >= TOLERANT:
        return set()
    names = {row["database"] for row in pools}
    forced = {name: forced[name] for name in names if name in forced}
    becoming = forced | {entry.name: entry.user or None for entry in wanted if entry.name in names}
    return {
        str(row["database"])
        for row in pools
        if _found(row, forced, listed) != _found(row, becoming, {*listed, *listed_after})
    }


def _found(pool: Mapping[str, object], forced: Forced, listed: Collection[str]) -> FoundBy:
    name, user = str(pool["database"]), pool["user"]
    if forced.get(name) == user:
        return FoundBy.ENTRY
    return FoundBy.LIST if user in listed else FoundBy.LOOKUP
