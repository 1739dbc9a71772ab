"""Tells a pooler that is down from one that shuts down: its process takes no new clients and waits for those it has.

PgBouncer does so after SIGTERM since 1.23 and after SHUTDOWN WAIT_FOR_CLIENTS, Pgpool-II after SIGTERM, HAProxy after
SIGUSR1 (their manuals on signals and on shutting down).
"""

import time

import psutil
from django.utils.translation import gettext as _

from pools.models import Pooler
from pools.poolers import KINDS, local_process

STARTS_WITHIN_S = 10  # a process that is younger may not serve yet


def explain(pooler: Pooler) -> str:
    """Return that a pooler which can't be reached is shutting down, and how to end that; empty where it is not.

    Known where its process runs on this host, by the account that has the pooler's folder.
    """
    if pooler.host.startswith("/"):
        return ""
    waiting = [one for one in local_process.started_on_folder(pooler, pooler.kind) if _waits(pooler, one)]
    if not waiting:
        return ""
    return _(
        "pooler %(pooler)s is shutting down: its process %(pid)d takes no new clients and ends when those that it has "
        "are gone; disconnect them, or end it at once with %(way)s, then start it again"
    ) % {"pooler": pooler, "pid": waiting[0].pid, "way": KINDS[pooler.kind].immediate_shutdown}


def _waits(pooler: Pooler, process: psutil.Process) -> bool:
    try:
        is_old = time.time() - process.create_time() >= STARTS_WITHIN_S
        return is_old and KINDS[pooler.kind].is_shutting_down(process)
    except (psutil.Error, OSError):  # it ended, or may not be looked at
        return False
