"""What an experiment makes for itself: roles, a database, pools and settings profiles; and how it removes them.

A row is written before the thing is made and closed after it is gone, so that a crash at any moment leaves nothing
that nobody knows of. All of it carries the experiment's number in its name.
"""

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from psycopg import sql

from benchmarks.errors import BenchmarksError
from benchmarks.experiments import poolers
from benchmarks.experiments.playbook import ArmSpec
from benchmarks.library.settings_profiles import store
from benchmarks.models import Dataset, Experiment, ExperimentResource, ResourceKind, SettingsProfile
from core.lib.errors import DomainError
from pools import task_queue
from pools.clusters import connect, endpoints
from pools.clusters.login_errors import Cause
from pools.errors import ClusterUnreachable, InvalidValues, NotThere
from pools.inventory import budget
from pools.inventory import pools as pool_changes
from pools.models import LIVE_STATES, AuthMethod, Cluster, Pool, Pooler, PoolState
from pools.poolers import KINDS, driver
from pools.provisioning import databases, roles
from pools.provisioning.ddl import session

log = logging.getLogger(__name__)

SCRAM, MD5 = "scram", "md5"
AUTH_METHODS = {SCRAM: AuthMethod.SCRAM, MD5: AuthMethod.MD5}
MAIN = "main"
_SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"


class PoolTerms(TypedDict, total=False):
    """The requirements on a pool: the kind of its pooler, its mode and size, its user, and how that logs in."""

    kind: str
    mode: str
    size: int
    user: str
    auth: str


@dataclass(frozen=True)
class RequiredResource:
    """Something that arms need; `arms` are their keys, `values` are of a pool, `settings` of a profile."""

    kind: ResourceKind
    key: str
    name: str
    values: PoolTerms = field(default_factory=PoolTerms)
    settings: Mapping[str, str] = field(default_factory=dict)
    arms: tuple[str, ...] = ()


def name_of(experiment: Experiment, suffix: str = "") -> str:
    """Return the name that its role, its database and its pools begin with."""
    return f"pooldeck_experiment_{experiment.number}" + (f"_{suffix}" if suffix else "")


def maker_of(experiment: Experiment) -> str:
    """Return what its pools are marked as made for, which tells them from pools of other people with their names."""
    return f"experiment {experiment.number}"


def loads_existing(experiment: Experiment) -> bool:
    """Return whether it loads tables that exist, so that role and database are not its own."""
    return "existing" in experiment.advice


def database_of(experiment: Experiment) -> str:
    """Return the database that the experiment loads."""
    existing = experiment.advice.get("existing")
    return existing["database"] if existing else name_of(experiment)


def role_of(experiment: Experiment, auth: str) -> str:
    """Return the role that arms of this authentication log in as."""
    existing = experiment.advice.get("existing")
    return existing["user"] if existing else name_of(experiment, MD5 if auth == MD5 else "")


def pool_key(arm: ArmSpec) -> str:
    """Return the key of an arm's pool; empty for a direct arm."""
    endpoint = arm.endpoint
    return f"{endpoint.kind}-{endpoint.mode}-{endpoint.size}-{arm.auth or SCRAM}" if endpoint.is_pooled else ""


def kind_of(key: str) -> str:
    """Return the kind of the pooler of a pool by its key."""
    return key.partition("-")[0]


def profile_key(arm: ArmSpec) -> str:
    """Return the key of an arm's settings profile; empty where it has none."""
    return "_".join(sorted(f"{name}={value}" for name, value in arm.profile.items()))[:60]


def needs(experiment: Experiment, arms: Sequence[ArmSpec]) -> list[RequiredResource]:
    """Return all that the arms need, in the order in which it has to be made."""
    tables = [] if loads_existing(experiment) else _tables_of_its_own(experiment, arms)
    return [*tables, *_profiles(experiment, arms), *_pools(experiment, arms)]


def _tables_of_its_own(experiment: Experiment, arms: Sequence[ArmSpec]) -> list[RequiredResource]:
    """Return the roles and the database that it makes for itself."""
    auths = {SCRAM} | {arm.auth for arm in arms if arm.auth}
    needed = [RequiredResource(ResourceKind.ROLE, SCRAM, role_of(experiment, SCRAM))]
    if MD5 in auths:
        users = tuple(arm.key for arm in arms if arm.auth == MD5)
        needed.append(RequiredResource(ResourceKind.ROLE, MD5, role_of(experiment, MD5), arms=users))
    return [*needed, RequiredResource(ResourceKind.DATABASE, MAIN, name_of(experiment))]


def _profiles(experiment: Experiment, arms: Sequence[ArmSpec]) -> Iterator[RequiredResource]:
    keys = dict.fromkeys(profile_key(arm) for arm in arms if arm.profile)
    for at, key in enumerate(keys, 1):
        users = [arm for arm in arms if arm.profile and profile_key(arm) == key]
        name = f"experiment {experiment.number} profile {at}"
        arms_of_it = tuple(arm.key for arm in users)
        yield RequiredResource(ResourceKind.PROFILE, key, name, settings=dict(users[0].profile), arms=arms_of_it)


def _pools(experiment: Experiment, arms: Sequence[ArmSpec]) -> Iterator[RequiredResource]:
    """Yield the pools, first those whose pooler shares its connections: these aren't made fewer, others may be."""
    pooled = [arm for arm in arms if arm.endpoint.is_pooled]
    sharing_first = sorted(pooled, key=lambda arm: not KINDS[arm.endpoint.kind].shares_connections)
    keys = dict.fromkeys(pool_key(arm) for arm in sharing_first)
    for at, key in enumerate(keys, 1):
        users = [arm for arm in arms if pool_key(arm) == key]
        endpoint, auth = users[0].endpoint, users[0].auth
        values: PoolTerms = {
            "kind": endpoint.kind,
            "mode": endpoint.mode,
            "size": endpoint.size,
            "user": role_of(experiment, auth),
            "auth": auth,
        }
        only = KINDS[endpoint.kind].only_name(Pooler(kind=endpoint.kind), name_of(experiment))
        name = only or name_of(experiment, f"p{at}")
        yield RequiredResource(ResourceKind.POOL, key, name, values, arms=tuple(arm.key for arm in users))


def create(experiment: Experiment, need: RequiredResource) -> ExperimentResource:
    """Make it unless it was made; raises `PoolsError` or `BenchmarksError` where that is refused."""
    row, is_new = experiment.resources.get_or_create(kind=need.kind, key=need.key, defaults={"name": need.name})
    if row.made_at is None:
        try:
            row.record = MAKERS[need.kind](experiment, need)
        except (InvalidValues, BenchmarksError):
            if is_new or not _exists(experiment, need):  # else an earlier attempt of ours, cut short, made it
                raise
        row.made_at = timezone.now()
        row.save(update_fields=["record", "made_at"])
    return row


def cluster_of(experiment: Experiment) -> Cluster:
    """Return its cluster; raises `BenchmarksError` where that was removed."""
    if experiment.cluster is None:
        raise BenchmarksError(_("cluster %(name)s was removed") % {"name": experiment.cluster_name})
    return experiment.cluster


def _make_role(experiment: Experiment, need: RequiredResource) -> None:
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


def _make_database(experiment: Experiment, need: RequiredResource) -> None:
    cluster = cluster_of(experiment)
    databases.create(cluster, {"name": need.name, "owner": role_of(experiment, SCRAM)}, experiment.author)


def _make_profile(experiment: Experiment, need: RequiredResource) -> UUID:
    description = _("Made for %(experiment)s, removed after it") % {"experiment": experiment}
    return store.create(
        name=need.name,
        values=need.settings,
        description=description,
        author=experiment.author,
        is_admin=experiment.by_admin,
        team=experiment.owning_team,
    ).pk


def _make_pool(experiment: Experiment, need: RequiredResource) -> UUID:
    cluster, pooler = cluster_of(experiment), poolers.find(experiment, need.values["kind"])
    if pooler is None:
        raise BenchmarksError(poolers.no_pooler_found(need.values["kind"], cluster))
    wanted = need.values["size"]
    size = wanted if driver(pooler).shares_connections else size_within_budget(cluster, wanted, pooler)
    values: pool_changes.PoolValues = {
        "name": need.name,
        "pooler": pooler,
        "cluster": cluster,
        "database": database_of(experiment),
        "user": need.values["user"],
        "mode": need.values["mode"],
        "size": size,
    }
    _require_room(cluster, pooler, size)
    note_smaller_size(experiment, wanted, size)
    method = AUTH_METHODS.get(need.values["auth"], "")
    return pool_changes.create(values, experiment.author, made_for=maker_of(experiment), auth_method=method).pk


MAKERS = {
    ResourceKind.ROLE: _make_role,
    ResourceKind.DATABASE: _make_database,
    ResourceKind.PROFILE: _make_profile,
    ResourceKind.POOL: _make_pool,
}


def _require_room(cluster: Cluster, pooler: Pooler, size: int) -> None:
    """Raise `BenchmarksError` with what to free where a pooler that shares connections may open more than are left.

    It takes as many, whatever the size of the pool: with a part of them the arm would measure something else.
    """
    if not driver(pooler).shares_connections:
        return
    free = budget.of_cluster(cluster).free
    needed = budget.needed_by(Pool(pooler=pooler, cluster=cluster, size=size))
    if free is not None and needed > free:
        text = _(
            "%(pooler)s may open %(needed)s connections, and the budget of %(cluster)s has %(free)s left: free "
            "%(short)s by making pools smaller or removing some, or raise max_connections"
        )
        numbers = {"needed": needed, "free": free, "short": needed - free}
        raise BenchmarksError(text % {"pooler": pooler, "cluster": cluster, **numbers})


def note_smaller_size(experiment: Experiment, wanted: int, size: int) -> None:
    """Note that a pool is smaller than its arm is called for."""
    text = _("The pool of %(wanted)s has %(size)s connections here: the budget of %(cluster)s has no more left.")
    note = text % {"wanted": wanted, "size": size, "cluster": experiment.cluster_name}
    if size < wanted and note not in experiment.notes:
        experiment.write(notes=[*experiment.notes, note])


def size_within_budget(cluster: Cluster, wanted: int, pooler: Pooler) -> int:
    """Return the size asked for, or what the budget has left where that is less; 1 at least.

    Each process that shares the pooler's port opens as many.
    """
    free = budget.of_cluster(cluster).free
    return wanted if free is None else max(1, min(wanted, free // pooler.process_count))


def _exists(experiment: Experiment, need: RequiredResource) -> bool:
    """Return whether there is something of that name; of an earlier attempt it is ours."""
    cluster = cluster_of(experiment)
    try:
        if need.kind == ResourceKind.ROLE:
            roles.reset_password(cluster, need.name, experiment.author)
        elif need.kind == ResourceKind.DATABASE:
            databases.find(cluster, need.name)
        else:
            return False
    except NotThere:
        return False
    return True


def pending_pools(experiment: Experiment) -> tuple[list[str], dict[str, str]]:
    """Return the keys of its pools that are not applied yet, and why those that were refused can't be used, by key."""
    pending: list[str] = []
    refused: dict[str, str] = {}
    for row in experiment.resources.filter(kind=ResourceKind.POOL, removed_at=None):
        pool = pool_of(row)
        if pool is None:
            refused[row.key] = _("its pool was removed during the experiment")
        elif pool.state == PoolState.PENDING:
            pending.append(row.key)
        elif pool.state not in LIVE_STATES:
            refused[row.key] = pool.state_reason or str(pool.get_state_display())
    return pending, refused


def retry_refused_pools(experiment: Experiment, refused: Mapping[str, str]) -> bool:
    """Request the apply of its refused pools for the second and last time; False where each had it, or is gone.

    On a busy host a login can time out, which is no fault of the pool.
    """
    again = []
    for row in experiment.resources.filter(kind=ResourceKind.POOL, key__in=refused, removed_at=None, error=""):
        if pool := pool_of(row):
            row.error = refused[row.key]
            row.save(update_fields=["error"])
            again.append(pool)
    task_queue.ask_again(again, experiment.author)
    return bool(again)


def is_being_applied(experiment: Experiment, arm: ArmSpec) -> bool:
    """Return whether an apply, of whatever cause, has yet to end of the pool that an arm goes through, if any."""
    row = experiment.resources.filter(kind=ResourceKind.POOL, key=pool_key(arm), removed_at=None).first()
    pool = pool_of(row) if row else None
    return pool is not None and pool.state == PoolState.PENDING


def pool_of(row: ExperimentResource) -> Pool | None:
    """Return its record; where a crash came before its id was written down, the one made for the experiment.

    Others may have a pool of that name on another pooler.
    """
    if row.record:
        return Pool.objects.filter(pk=row.record).first()
    return Pool.objects.filter(name=row.name, made_for=maker_of(row.experiment)).first()


def remove_all(experiment: Experiment) -> list[str]:
    """Remove what is left, the last made first; return why what is still there could not go yet, in sentences."""
    reasons: list[str] = []
    for row in experiment.resources.filter(removed_at=None).order_by("-pk"):
        try:
            gone = REMOVERS[ResourceKind(row.kind)](experiment, row)
            reason = "" if gone else _("%(resource)s is still being removed") % {"resource": row}
        except NotThere:
            reason = ""
        except DomainError as error:
            reason = _("%(resource)s could not be removed: %(reason)s") % {"resource": row, "reason": error}
        _close(row, reason)
        reasons += [reason] if reason else []
    return reasons


def _close(row: ExperimentResource, reason: str) -> None:
    row.error, row.removed_at = reason, None if reason else timezone.now()
    row.save(update_fields=["error", "removed_at"])


def _remove_pool(experiment: Experiment, row: ExperimentResource) -> bool:
    pool = pool_of(row)
    if pool is None:
        return True
    if pool.removal_requested_at is None:
        pool_changes.remove(pool, experiment.author)
    return not Pool.objects.filter(pk=pool.pk).exists()


def _remove_profile(experiment: Experiment, row: ExperimentResource) -> bool:
    of_its_team = {"name": row.name, "team": experiment.owning_team, "author": experiment.author}
    known = {"pk": row.record} if row.record else of_its_team  # a crash came before its id was written down
    if profile := SettingsProfile.objects.filter(**known).first():
        store.remove(profile)
    return True


def _remove_database(experiment: Experiment, row: ExperimentResource) -> bool:
    if experiment.cluster is None or Pool.objects.filter(cluster=experiment.cluster, database=row.name).exists():
        return experiment.cluster is None
    # The record goes first: the drop raises where the database is gone already, and the tables are gone either way.
    Dataset.objects.filter(cluster=experiment.cluster, database=row.name).delete()
    with session(experiment.cluster) as connection:
        connection.execute(_SESSIONS, (row.name,))  # all of them are this experiment's: the database is its own
    databases.drop(experiment.cluster, row.name, experiment.author)
    return True


def _remove_role(experiment: Experiment, row: ExperimentResource) -> bool:
    if experiment.cluster is None:
        return True
    if experiment.resources.filter(removed_at=None).exclude(kind=ResourceKind.ROLE).exclude(pk=row.pk).exists():
        return False
    roles.drop(experiment.cluster, row.name, experiment.author)
    return True


REMOVERS = {
    ResourceKind.ROLE: _remove_role,
    ResourceKind.DATABASE: _remove_database,
    ResourceKind.PROFILE: _remove_profile,
    ResourceKind.POOL: _remove_pool,
}
