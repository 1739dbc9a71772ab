"""The database of an experiment, whose tables it loads."""

from benchmarks.experiments.resources.needed import SCRAM, RequiredResource, cluster_of, role_of
from benchmarks.models import Dataset, Experiment, ExperimentResource
from pools.errors import NotThere
from pools.models import Pool
from pools.provisioning import databases
from pools.provisioning.ddl import session

_SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"


def make(experiment: Experiment, need: RequiredResource) -> None:
    """Create it, owned by the experiment's role; raises `PoolsError`."""
    cluster = cluster_of(experiment)
    databases.create(cluster, {"name": need.name, "owner": role_of(experiment, SCRAM)}, experiment.author)


def exists(experiment: Experiment, need: RequiredResource) -> bool:
    """Return whether there is a database of that name."""
    try:
        databases.find(cluster_of(experiment), need.name)
    except NotThere:
        return False
    return True


def remove(experiment: Experiment, row: ExperimentResource) -> bool:
    """Drop it and the record of its tables once no pool leads to it; return whether it is gone."""
    if experiment.cluster is None or Pool.objects.filter(cluster=experiment.cluster, database=row.name).exists():
        return experiment.cluster is None
    # The record goes first: the drop raises where the database is gone already, and the tables are gone either way.
    Dataset.objects.filter(cluster=experiment.cluster, database=row.name).delete()
    with session(experiment.cluster) as connection:
        connection.execute(_SESSIONS, (row.name,))  # all of them are this experiment's: the database is its own
    databases.drop(experiment.cluster, row.name, experiment.author)
    return True
