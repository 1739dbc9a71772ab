"""Entries that were taken over: the operator's own connection string, of which an apply changes only what was asked.

What such a line leaves out follows PgBouncer's settings, as before: its size default_pool_size, its mode pool_mode, and
its connections have no limit for all users together. Its users come from where they came from.
"""

from collections.abc import Mapping

from pools.models import Pool
from pools.poolers.pgbouncer import database_entries, releases, values
from pools.poolers.pgbouncer.database_entries import LOOSE_PAIR, Entry, LoginCache, quoted
from pools.poolers.pgbouncer.settings_catalog import CATALOG
from pools.poolers.settings_schema import Scope, Version

ALL_DEFAULTS = f"port={database_entries.DEFAULT_PORT}"  # an empty line means the same, but is hard to see
SETTINGS = {name for one in CATALOG if one.scope == Scope.POOL for name in (one.name, *one.also)}
Config = Mapping[str, str]  # SHOW CONFIG


def size_of(pairs: Mapping[str, str], config: Config) -> int:
    """Return the size of an entry, its own or the program's."""
    return int(pairs.get("pool_size") or config.get("default_pool_size") or 20)


def mode_of(pairs: Mapping[str, str], config: Config) -> str:
    """Return the mode of an entry, its own or the program's."""
    return pairs.get("pool_mode") or config.get("pool_mode") or "session"


def settings_of(pairs: Mapping[str, str]) -> dict[str, str]:
    """Return the pairs of an entry that are settings of a pool, by their names in the catalog."""
    named = {other: one.name for one in CATALOG if one.scope == Scope.POOL for other in (one.name, *one.also)}
    return {named[key]: value for key, value in pairs.items() if key in named}


def client_of(pool: Pool) -> tuple[str, str]:
    """Return the role, with its password, that gets through the entry as a client; empty where none is known."""
    role = str(pool.taken_over.get("role") or "")
    if role and role == pool.pooler.admin_user:
        return role, pool.pooler.admin_password
    return role, (pool.cluster.password_of(role) or "") if role else ""


def edited(before: Entry, pool: Pool, config: Config, version: Version, known: LoginCache) -> Entry:
    """Return the entry as its pool's record wants it; every key that the record does not change stays as it was.

    Raises `Rejected` where the password of its user is not known.
    """
    pairs = {key: bare or inside.replace("''", "'") for key, inside, bare in LOOSE_PAIR.findall(before.kept)}
    edited_pairs = {
        **pairs,
        **_changed(pairs, before, pool, config),
        **_login(pairs, pool, known),
        **_route(pool, known),
    }
    if before.user and not pool.user:
        edited_pairs = {key: value for key, value in edited_pairs.items() if key not in ("user", "password")}
    own = {releases.key_in(name, version): values.text_of(value) for name, value in pool.settings.items()}
    if settings_of(own) != settings_of(pairs):
        edited_pairs = {key: value for key, value in edited_pairs.items() if key not in SETTINGS} | own
    text = " ".join(f"{key}={quoted(value)}" for key, value in edited_pairs.items())
    return database_entries.of_kept(pool.key, pool.name, before.kept if edited_pairs == pairs else text)


def _changed(pairs: Mapping[str, str], before: Entry, pool: Pool, config: Config) -> dict[str, str]:
    found = {}
    if pool.database != before.database or (pool.name != before.name and "dbname" not in pairs):
        found["dbname"] = pool.database
    if pool.size != size_of(pairs, config):
        found["pool_size"] = str(pool.size)
    if pool.mode != mode_of(pairs, config):
        found["pool_mode"] = pool.mode
    return found


def _login(pairs: Mapping[str, str], pool: Pool, known: LoginCache) -> dict[str, str]:
    """Return the user and password where either is another now."""
    if not pool.user:
        return {}
    password = known.password(pool, pool.user)
    if pool.user == pairs.get("user") and "password" not in pairs:
        return {}  # PgBouncer takes it from its auth_file, as before
    return {"user": pool.user, "password": password}


def _route(pool: Pool, known: LoginCache) -> dict[str, str]:
    """Return the address where the cluster, or the choice among its servers, is another than at the take-over."""
    host, port, _note = known.address(pool)
    return {} if [host, port] == pool.taken_over.get("address") else {"host": host, "port": str(port)}
