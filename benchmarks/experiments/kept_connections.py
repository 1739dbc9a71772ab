"""The server connections that an experiment's pools keep after a run, which the next run must not find taken."""

from benchmarks.experiments import resources
from benchmarks.models import Experiment, ResourceKind
from core.lib.polling import poll
from pools.clusters import connect
from pools.console import commands
from pools.models import LIVE_STATES
from pools.poolers import KINDS, driver
from pools.provisioning.ddl import session

CLOSED_WITHIN_S = 1.0  # PgBouncer closes idle connections in its janitor, three times a second
_COUNTED = """
    SELECT count(*) FROM pg_stat_activity
     WHERE datname = %s AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND NOT %s
"""


def close_server_connections(experiment: Experiment) -> int:
    """Have its PgBouncer pools close their idle server connections; return how many sessions are left.

    What a pool keeps open after its arm's run is taken from the arms that follow: a direct one would be refused. The
    pool of the next arm closes its own too, so that every run begins without server connections, whatever ran before.
    """
    # In an existing database, its sessions can't be told from those of others.
    if resources.loads_existing(experiment):
        _reconnect_pools(experiment)
        return 0
    with session(resources.cluster_of(experiment)) as connection:
        if not _sessions(experiment, connection):
            return 0
        _reconnect_pools(experiment)
        return poll(lambda: _are_closed(_sessions(experiment, connection)), CLOSED_WITHIN_S)


def _are_closed(left: int) -> tuple[bool, int]:
    return left == 0, left


def _reconnect_pools(experiment: Experiment) -> None:
    for row in experiment.resources.filter(kind=ResourceKind.POOL, removed_at=None):
        pool = resources.pool_of(row)
        if pool is not None and "reconnect" in driver(pool.pooler).verbs and pool.state in LIVE_STATES:
            commands.reconnect(pool, experiment.author)


def _sessions(experiment: Experiment, connection: connect.Connection) -> int:
    """Count the sessions on its database; none where a pooler keeps its own."""
    row = connection.execute(_COUNTED, (resources.name_of(experiment), _are_kept(experiment))).fetchone()
    return int(row[0]) if row else 0


def _are_kept(experiment: Experiment) -> bool:
    """Return whether a pooler keeps sessions there, as one does that can't be told to close those of a pool."""
    keys = experiment.resources.filter(kind=ResourceKind.POOL, removed_at=None).values_list("key", flat=True)
    return any("reconnect" not in KINDS[resources.kind_of(key)].verbs for key in keys)
