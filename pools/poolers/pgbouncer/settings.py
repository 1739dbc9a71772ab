"""The per-pool settings of a [databases] entry, with the PgBouncer release that brought each (its NEWS.md)."""

import re

Version = tuple[int, int]
SINCE: dict[str, Version] = {
    "min_pool_size": (1, 18),
    "reserve_pool": (1, 18),
    "connect_query": (1, 18),
    "client_encoding": (1, 18),
    "datestyle": (1, 18),
    "timezone": (1, 18),
    "server_lifetime": (1, 23),
    "load_balance_hosts": (1, 24),
    "max_db_client_connections": (1, 24),
}
NUMBERS = frozenset({"min_pool_size", "reserve_pool", "server_lifetime", "max_db_client_connections"})
RENAMED = {"reserve_pool": ((1, 24), "reserve_pool_size")}


def version_of(text: str) -> Version:
    """(1, 18) of `PgBouncer 1.18.0`; the oldest known where the text holds no number."""
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (1, 18)


def fault_of(name: str, value: object, version: Version) -> str:
    """Why this setting can't be given to this release; empty when it can."""
    if name not in SINCE:
        return f"setting {name} is not one the panel gives to PgBouncer: use {', '.join(sorted(SINCE))}"
    if version < SINCE[name]:
        return (
            f"setting {name} came with PgBouncer {SINCE[name][0]}.{SINCE[name][1]}, this is {version[0]}.{version[1]}"
        )
    if name in NUMBERS and not (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return f"setting {name}={value!r} must be a whole number of at least 0"
    if not str(value):
        return f"setting {name} is empty: give it a value or leave it out"
    return ""


def key_in(name: str, version: Version) -> str:
    """The name this release gives to the setting."""
    since, new_name = RENAMED.get(name, ((0, 0), name))
    return new_name if version >= since else name
