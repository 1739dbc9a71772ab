"""All settings of PgBouncer 1.18 to 1.26, of the program, of a pool and of a user.

Compared with the SHOW CONFIG of real releases; `since` and `until` from its NEWS.md and the tables in its main.c
and loader.c. What stands without `since` was there in 1.18.
"""

from pools.poolers.pgbouncer.settings_catalog import (
    authentication,
    databases,
    listening,
    log,
    network,
    pooling,
    servers,
    timeouts,
    tls,
    users,
)
from pools.poolers.settings_schema import Setting

CATALOG: tuple[Setting, ...] = (
    *pooling.SETTINGS,
    *timeouts.SETTINGS,
    *servers.SETTINGS,
    *authentication.SETTINGS,
    *tls.SETTINGS,
    *log.SETTINGS,
    *listening.SETTINGS,
    *network.SETTINGS,
    *databases.SETTINGS,
    *users.SETTINGS,
)
