"""The settings of Pgpool-II 4.3 to 4.7 that the panel offers, in the terms of its manual.

Names and defaults are those of PGPOOL SHOW ALL; what is read at the start only was seen on 4.3 and 4.6 by a reload
and stands in src/config/pool_config_variables.c; the rest is from the release notes.
"""

from pools.poolers.pgpool.settings_catalog import (
    caches,
    connections,
    failover,
    load_balancing,
    log,
    replication,
    tls,
)
from pools.poolers.pgpool.settings_catalog.shapes import OLDEST
from pools.poolers.pgpool.settings_catalog.tls import RULES
from pools.poolers.settings_schema import Setting, Version

__all__ = ["CATALOG", "OLDEST", "RULES", "by_name"]

CATALOG: tuple[Setting, ...] = (
    *connections.SETTINGS,
    *load_balancing.SETTINGS,
    *replication.STREAMING,
    *failover.HEALTH,
    *failover.SETTINGS,
    *tls.TLS,
    *tls.LOGINS,
    *log.SETTINGS,
    *caches.RESULTS,
    *caches.RELCACHE,
    *replication.NATIVE,
    *load_balancing.BACKENDS,
)


def by_name(version: Version) -> dict[str, Setting]:
    """Return the settings that a release knows, by name."""
    return {setting.name: setting for setting in CATALOG if setting.known_to(version)}
