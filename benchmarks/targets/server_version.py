"""Which PostgreSQL a run loads, in the server's own words, and what such a one would not take."""

from typing import Any

import psycopg

from benchmarks import engines
from benchmarks.errors import InvalidOptions
from benchmarks.models import ExternalEndpoint, Run
from panel.lib.crypto import SealBroken
from pools.clusters import connect
from pools.errors import PoolsError
from pools.models import Cluster, ClusterStatus

ANSWER_WITHIN_S = 2


def of_server(run: Run) -> str:
    """`15.18` of the run's cluster, asked past any pooler; else by its last check, and empty where that is unknown.

    Every server says it to each session, unasked. pgbench prints it only where it differs from its own version, and
    hears through a pooler what that remembers.
    """
    if run.cluster is None:
        return _reported_through(run.external) if run.external else ""
    try:
        with connect.connect(run.cluster, connect_timeout=ANSWER_WITHIN_S) as connection:
            reported = connection.info.parameter_status("server_version") or ""
    except (PoolsError, SealBroken, psycopg.Error):
        status = ClusterStatus.objects.filter(cluster=run.cluster).first()
        reported = status.server_version if status else ""
    return reported.partition(" ")[0]  # Debian's goes on with its package's version


def _reported_through(external: ExternalEndpoint) -> str:
    """What the pooler passes on, which may be what it remembers."""
    try:
        with connect.connect_endpoint(external.endpoint, connect_timeout=ANSWER_WITHIN_S) as connection:
            return (connection.info.parameter_status("server_version") or "").partition(" ")[0]
    except (PoolsError, SealBroken, psycopg.Error):
        return ""


def refuse_unmakeable(cluster: Cluster, engine: str, options: dict[str, Any], program: tuple[int, int]) -> None:
    """Refuse to prepare what this version of the program would fail to make there.

    Raises `InvalidOptions`, and `ClusterUnreachable` (of the pools app).
    """
    with connect.connect(cluster) as connection:
        major = connection.info.server_version // 10_000
    if errors := engines.engine(engine).server_refuses(options, program, major):
        raise InvalidOptions(errors)
