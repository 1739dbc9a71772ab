"""Version of the PostgreSQL that a run loads, and what such a version would refuse."""

import psycopg

from benchmarks import engines
from benchmarks.errors import InvalidOptions
from benchmarks.models import ExternalEndpoint, Run
from benchmarks.models.options import RunOptions
from core.lib.crypto import SealBroken
from pools.clusters import connect
from pools.errors import PoolsError
from pools.models import ClusterStatus

ANSWER_WITHIN_S = 2


def of_server(run: Run) -> str:
    """Return `15.18` of the run's cluster, asked past any pooler, else of its last check; empty where unknown.

    Every server sends its version to each session. pgbench prints it only where it differs from its own, and through a
    pooler it gets the one that the pooler cached.
    """
    if run.cluster is None:
        return _reported_through(run.external) if run.external else ""
    try:
        with connect.connect(run.cluster, connect_timeout=ANSWER_WITHIN_S) as connection:
            version = connection.info.parameter_status("server_version") or ""
    except (PoolsError, SealBroken, psycopg.Error):
        status = ClusterStatus.objects.filter(cluster=run.cluster).first()
        version = status.server_version if status else ""
    return version.partition(" ")[0]  # Debian's goes on with its package's version


def _reported_through(external: ExternalEndpoint) -> str:
    """Return the version that the pooler passes on, which may be a cached one."""
    try:
        with connect.connect_endpoint(external.endpoint, connect_timeout=ANSWER_WITHIN_S) as connection:
            return (connection.info.parameter_status("server_version") or "").partition(" ")[0]
    except (PoolsError, SealBroken, psycopg.Error):
        return ""


def refuse_unmakeable(
    connection: connect.Connection, engine: str, options: RunOptions, program: tuple[int, int]
) -> None:
    """Refuse to prepare what this version of the program would fail to make on that server; raise `InvalidOptions`."""
    major = connection.info.server_version // 10_000
    if errors := engines.engine(engine).server_refuses(options, program, major):
        raise InvalidOptions(errors)
