"""What idle connections take of the server's memory: measured where the server runs on this host, else estimated.

Measured is their own memory as the cluster's insights have it (`pools.clusters.process_memory.Measured`: Pss_Anon of
/proc/PID/smaps_rollup), so that buffers which all sessions share are not counted for each.
"""

import logging
from typing import Any

import psycopg
from psycopg.rows import dict_row

from benchmarks.runs.setup.base import SetupContext
from pools.clusters import activity, connect, process_memory
from pools.clusters.memory_budget import MB
from pools.clusters.process_memory import Measured
from pools.errors import PoolsError

log = logging.getLogger(__name__)

# One that has read the catalogue: 4.8 MB in the published run, 17.4 MB measured of 90 on PostgreSQL 15.18.
READ_LOW, READ_HIGH = 5 * MB, 18 * MB
_PIDS = "SELECT pid FROM pg_stat_activity WHERE application_name = %s ORDER BY random() LIMIT %s"


def of_idle(held: SetupContext, application_name: str, count: int) -> dict[str, Any]:
    """`memory` and `memory_bytes_each`, the mean of some sessions' own memory, or `memory` alone with its bounds.

    `memory` is `measured`, or `estimated` with `memory_low_bytes` and `memory_high_bytes` for all.
    """
    try:
        found = _measured(held, application_name)
    except (PoolsError, psycopg.Error) as error:
        log.info("run %s: the memory of its idle connections can't be measured: %s", held.run.pk, error)
        found = None
    if isinstance(found, Measured):
        return {"memory": "measured", "memory_bytes_each": found.own, "memory_bytes": found.own * count}
    low, high = (size * count for size in (READ_LOW, READ_HIGH))
    return {"memory": "estimated", "memory_low_bytes": low, "memory_high_bytes": high}


def _measured(held: SetupContext, application_name: str) -> Measured | process_memory.Why | None:
    if held.run.cluster is None:
        return None
    with (
        connect.connect(held.run.cluster, application_name="pooldeck-conditions") as connection,
        connection.cursor(row_factory=dict_row) as cursor,
    ):
        own, _ = activity.own_session(cursor)
        found = cursor.execute(_PIDS, (application_name, activity.PROCESSES_MEASURED)).fetchall()
        return process_memory.measure(own, [row["pid"] for row in found])
