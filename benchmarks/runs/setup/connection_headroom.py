"""Whether a server has the connections that are held through a load, asked before anything of the run is queued.

A run that finds out by itself has taken all of them from everybody else by then.
"""

from typing import Any

from benchmarks import engines
from benchmarks.errors import InvalidOptions
from benchmarks.models import SettingsProfile
from benchmarks.runs.setup.options import CLUSTER
from benchmarks.targets.resolve import Target
from pools.clusters import connect

LIMITS = ("max_connections", "superuser_reserved_connections", "reserved_connections")
_LIMITS = """
    SELECT name, setting::int FROM pg_settings
     WHERE name IN ('max_connections', 'superuser_reserved_connections', 'reserved_connections')
"""


def guard(target: Target, engine: str, options: dict[str, Any]) -> None:
    """Raises `InvalidOptions` where the server can't have them all, whatever else is connected.

    What goes through a pool is left alone: those are the pooler's clients, and its size bounds what the server sees.
    Raises `ClusterUnreachable` too.
    """
    if target.cluster is None:
        return
    kept = {} if target.pooled else engines.engine(engine).extra_connections(options)
    direct = not target.pooled or options.get("idle_at") == CLUSTER
    idle = {"idle_connections": int(options.get("idle_connections") or 0)} if direct else {}
    held = {name: number for name, number in (kept | idle).items() if number}
    if not held:
        return
    with connect.connect(target.cluster) as connection:
        limits = dict(connection.execute(_LIMITS).fetchall()) | _of_profile(options)
    most = limits.pop("max_connections", 0)
    reserved = sum(limits.values())
    if sum(held.values()) > most - reserved:
        raise InvalidOptions(_why_not(target.cluster.name, held, most, reserved))


def _of_profile(options: dict[str, Any]) -> dict[str, int]:
    """The limits as the run's own settings profile has them, which is in force before anything is opened."""
    profile = SettingsProfile.objects.filter(name=options.get("settings_profile") or "").first()
    values = profile.values if profile else {}
    return {name: int(values[name]) for name in LIMITS if str(values.get(name, "")).isdigit()}


def _why_not(cluster: str, held: dict[str, int], most: int, reserved: int) -> dict[str, list[str]]:
    """The reason, at each option that could be made smaller."""
    usable, found = most - reserved, {}
    there = f"the {usable:,} that {cluster} has for logins (max_connections {most:,}, {reserved:,} of them reserved)"
    for name, number in held.items():
        others = {other: count for other, count in held.items() if other != name}
        beside = "".join(f" and the {count:,} of {other}" for other, count in others.items())
        left = usable - sum(others.values())
        remedy = f"use at most {left:,}" if left > 0 else "use fewer of both"
        found[name] = [f"{number:,} connections{beside} are more than {there}: {remedy}, or let them go through a pool"]
    return found
