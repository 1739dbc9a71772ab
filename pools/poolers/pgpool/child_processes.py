"""Having every child of a Pgpool-II read the passwords that were written.

A child that serves a client when it is told to reload reads pgpool.conf and pool_hba.conf, but not pool_passwd
(`pool_process_query` of 4.3.5 and 4.6.1; seen): it refuses its next client if that is a new user. One that waits for
a client reads all three before it serves the next.
"""

import time
from collections.abc import Collection

from pools.models import Pooler
from pools.poolers.pgpool import pcp

SIGNALED_S = 0.3  # PCP answers before the program has told its children, and nothing says when it has
MOST_RELOADS = 5


def reload(pooler: Pooler, behind: Collection[str]) -> frozenset[str]:
    """Reload until all children of `behind` have been told while they waited, or serve clients; those that do.

    Told is who waits before the reload and a moment after it, and served nobody in between.
    Raises `PoolerUnreachable`, `Rejected`.
    """
    not_reloaded = frozenset(behind)
    for _ in range(MOST_RELOADS):
        before = pcp.children(pooler)
        not_reloaded &= before.keys()
        if not any(before[child].waits for child in not_reloaded):
            break
        pcp.reload_config(pooler)
        time.sleep(SIGNALED_S)
        after = pcp.children(pooler)
        not_reloaded = frozenset(
            child
            for child in not_reloaded
            if child in after and not (before[child].waits and before[child] == after[child])
        )
    return not_reloaded
