"""Whether the clients of an arm log in by the password method that the arm is named after: tried before it is measured.

A role with an MD5 hash logs in by MD5 only where pg_hba.conf lets it, and through a PgBouncer of auth_type
scram-sha-256 by SCRAM, whatever the server has of it. An arm that measured another method than its label says would be
wrong without a sign of it.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

import psycopg
from django.utils.translation import gettext as _

from benchmarks.experiments import resources
from benchmarks.experiments.playbook import ArmSpec
from benchmarks.models import Experiment, ResourceKind
from pools.clusters import connect, endpoints
from pools.clusters.endpoints import REQUIRE_AUTH_SINCE, Endpoint
from pools.errors import ClusterUnreachable, PoolerUnreachable
from pools.models import Pool
from pools.poolers import pooler_login

WITHIN_S = 5
MISMATCH = re.compile(r"authentication method requirement \S+ failed: (.+)")


def mismatches(experiment: Experiment, arms: Iterable[ArmSpec]) -> dict[str, str]:
    """Return why arms can't be measured by their method, by the arms' keys; tries one login per endpoint and method.

    A login that fails for another reason says nothing here: the arm's run does.
    """
    demanding = [arm for arm in arms if arm.auth] if psycopg.pq.version() >= REQUIRE_AUTH_SINCE else []
    one_of_each = {(resources.pool_key(arm), arm.auth): arm for arm in demanding}
    reasons = {login: _mismatch(experiment, arm) for login, arm in one_of_each.items()}
    return {arm.key: reason for arm in demanding if (reason := reasons[resources.pool_key(arm), arm.auth])}


def _mismatch(experiment: Experiment, arm: ArmSpec) -> str:
    method = resources.AUTH_METHODS[arm.auth]
    if arm.endpoint.is_pooled:
        row = experiment.resources.filter(kind=ResourceKind.POOL, key=resources.pool_key(arm)).first()
        pool = resources.pool_of(row) if row else None
        return _of_pool(pool, method) if pool else ""
    cluster, role = resources.cluster_of(experiment), resources.role_of(experiment, arm.auth)
    direct = endpoints.of_cluster(cluster, resources.database_of(experiment))
    text = _(
        "%(cluster)s does not let %(role)s log in by %(method)s: %(reason)s. Allow %(method)s for this role in "
        "pg_hba.conf, or leave the arm out"
    )
    reason = _fault(endpoints.as_role(direct, cluster, role), method)
    return text % {"cluster": cluster, "role": role, "method": method, "reason": reason} if reason else ""


def _of_pool(pool: Pool, method: str) -> str:
    """Return why the clients of a pool log in by another method; a pooler behind SSH is reached by its tunnel."""
    try:
        endpoint = replace(endpoints.for_panel(pool), **pooler_login.address_of(pool.pooler))
    except PoolerUnreachable:
        return ""
    text = _(
        "%(pooler)s does not let %(role)s log in by %(method)s: %(reason)s. Allow %(method)s for this role by the "
        "auth_type or the HBA rules of the pooler, or leave the arm out"
    )
    reason = _fault(endpoint, method)
    return text % {"pooler": pool.pooler, "role": endpoint.user, "method": method, "reason": reason} if reason else ""


def _fault(endpoint: Endpoint, method: str) -> str:
    """Return libpq's reason why a login is not by this method; empty where it is, or fails for another reason."""
    try:
        connect.connect_endpoint(endpoint, connect_timeout=WITHIN_S, require_auth=method).close()
    except ClusterUnreachable as error:
        match = MISMATCH.search(error.words)
        return match[1] if match else ""
    return ""
