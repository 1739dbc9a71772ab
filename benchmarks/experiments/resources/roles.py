"""The roles of an experiment: the owner of its database, and one with an MD5 hash where an arm logs in so."""

import hashlib

from django.utils.translation import gettext as _
from psycopg import sql

from benchmarks.errors import BenchmarksError
from benchmarks.experiments.resources.needed import MD5, SCRAM, RequiredResource, cluster_of, role_of
from benchmarks.models import Experiment, ExperimentResource, ResourceKind
from pools.clusters import connect, endpoints
from pools.clusters.login_errors import Cause
from pools.errors import ClusterUnreachable, NotThere
from pools.models import Cluster
from pools.provisioning import roles
from pools.provisioning.ddl import session


def make(experiment: Experiment, need: RequiredResource) -> None:
    """Create it; raises `PoolsError` or `BenchmarksError` where that is refused."""
    cluster = cluster_of(experiment)
    __, password = roles.create(cluster, {"name": need.name}, experiment.author)
    if need.key == MD5:
        _hash_by_md5(experiment, cluster, need.name, password)


def _hash_by_md5(experiment: Experiment, cluster: Cluster, name: str, password: str) -> None:
    """Give a role an MD5 hash and the rights of the database's owner; raises `BenchmarksError` where it may not log in.

    The server decides by pg_hba.conf: the method scram-sha-256 lets in no role with an MD5 hash.
    """
    digest = hashlib.md5((password + name).encode()).hexdigest()  # noqa: S324 (PostgreSQL's own scheme)
    role, owner = sql.Identifier(name), sql.Identifier(role_of(experiment, SCRAM))
    with session(cluster) as connection:
        connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, sql.Literal(f"md5{digest}")))
        connection.execute(sql.SQL("GRANT {} TO {}").format(owner, role))
    endpoint = endpoints.as_role(endpoints.of_cluster(cluster), cluster, name, password)
    try:
        connect.connect_endpoint(endpoint).close()
    except ClusterUnreachable as error:
        if error.cause not in (Cause.PASSWORD, Cause.HBA):
            raise
        reason = _("pg_hba.conf of %(cluster)s demands SCRAM: allow md5 for role %(role)s, or leave the arm out")
        raise BenchmarksError(reason % {"cluster": cluster, "role": name}) from None


def exists(experiment: Experiment, need: RequiredResource) -> bool:
    """Return whether there is a role of that name, after it has got a new password."""
    try:
        roles.reset_password(cluster_of(experiment), need.name, experiment.author)
    except NotThere:
        return False
    return True


def remove(experiment: Experiment, row: ExperimentResource) -> bool:
    """Drop it once nothing else of the experiment is left; return whether it is gone."""
    if experiment.cluster is None:
        return True
    if experiment.resources.filter(removed_at=None).exclude(kind=ResourceKind.ROLE).exclude(pk=row.pk).exists():
        return False
    roles.drop(experiment.cluster, row.name, experiment.author)
    return True
