"""Releases of PgBouncer: which one a text names, and what a setting is called there."""

import re

from pools.poolers.settings_schema import Version

OLDEST: Version = (1, 18)
RENAMED = {"reserve_pool": ((1, 24), "reserve_pool_size")}  # keys of [databases] entries


def version_of(text: str) -> Version:
    """Return (1, 18) for `PgBouncer 1.18.0`; the oldest supported where the text has no number."""
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else OLDEST


def key_in(name: str, version: Version) -> str:
    """Return the name that this release gives to the setting of a pool."""
    since, new_name = RENAMED.get(name, ((0, 0), name))
    return new_name if version >= since else name
