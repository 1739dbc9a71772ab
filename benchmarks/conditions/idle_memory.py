"""What idle connections take of the server's memory: measured where the server runs on this host, else estimated."""

import logging
from typing import Any

import psycopg
from psycopg.rows import dict_row

from benchmarks.conditions.contract import Held
from pools.errors import PoolsError
from pools.servers import insights, postgres, processes
from pools.servers.processes import Measured

log = logging.getLogger(__name__)

_PIDS = "SELECT pid FROM pg_stat_activity WHERE application_name = %s ORDER BY random() LIMIT %s"


def of_idle(held: Held, application_name: str, count: int) -> dict[str, Any]:
    """`memory` and `memory_bytes_each`, the mean of some sessions' private memory, or `memory` alone with its bounds.

    `memory` is `measured`, `estimated` (then with `memory_low_bytes` and `memory_high_bytes` for all) or `unknown`.
    """
    try:
        found = _measured(held, application_name)
    except (PoolsError, psycopg.Error) as error:
        log.info("run %s: the memory of its idle connections can't be measured: %s", held.run.pk, error)
        found = None
    if isinstance(found, Measured):
        return {"memory": "measured", "memory_bytes_each": found.private, "memory_bytes": found.private * count}
    low, high = (size * count for size in (insights.IDLE_LOW, insights.IDLE_HIGH))
    return {"memory": "estimated", "memory_low_bytes": low, "memory_high_bytes": high}


def _measured(held: Held, application_name: str) -> Measured | processes.Why | None:
    if held.run.cluster is None:
        return None
    with (
        postgres.connect(held.run.cluster, application_name="pooldeck-conditions") as connection,
        connection.cursor(row_factory=dict_row) as cursor,
    ):
        own, _ = insights.own_session(cursor)
        found = cursor.execute(_PIDS, (application_name, insights.PROCESSES_MEASURED)).fetchall()
        return processes.measure(own, [row["pid"] for row in found])
