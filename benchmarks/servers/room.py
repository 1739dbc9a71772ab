"""Whether a server has the connections that a load keeps open, asked before anything of the run is queued."""

from typing import Any

from benchmarks import engines
from benchmarks.errors import InvalidOptions
from benchmarks.servers.targets import Target
from pools.servers import postgres

_LIMITS = """
    SELECT sum(setting::int) FILTER (WHERE name = 'max_connections'),
           coalesce(sum(setting::int) FILTER (WHERE name <> 'max_connections'), 0)
      FROM pg_settings
     WHERE name IN ('max_connections', 'superuser_reserved_connections', 'reserved_connections')
"""


def guard(target: Target, engine: str, options: dict[str, Any]) -> None:
    """Raises `InvalidOptions` where the server can't have them all, whatever else is connected.

    A run through a pool is left alone: there they are the pooler's clients, and its size bounds what the server sees.
    Raises `ClusterUnreachable` too.
    """
    kept = engines.kept_open(engine, options)
    if not kept or target.pool is not None:
        return
    idle = int(options.get("idle_connections") or 0)
    with postgres.connect(target.cluster) as connection:
        row = connection.execute(_LIMITS).fetchone()
    most, reserved = row or (0, 0)
    for name, number in kept.items():
        if number + idle > most - reserved:
            why = _why_not(target.cluster.name, (number, idle), (int(most), int(reserved)))
            raise InvalidOptions({name: [why]})


def _why_not(cluster: str, wanted: tuple[int, int], limits: tuple[int, int]) -> str:
    (number, idle), (most, reserved) = wanted, limits
    beside = f" and {idle:,} idle ones beside them" if idle else ""
    left = most - reserved - idle
    remedy = f"use at most {left:,}" if left > 0 else "use fewer idle connections"
    return (
        f"{number:,} connections{beside} are more than the {most - reserved:,} that {cluster} has for logins "
        f"(max_connections {most:,}, {reserved:,} of them reserved): {remedy}, or run it through a pool"
    )
