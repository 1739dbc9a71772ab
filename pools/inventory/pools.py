"""Creates, changes and removes pools: checked as a whole, saved as a wish, brought live by the workers."""

import logging
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

from pools import task_queue
from pools.errors import IllegalTransition, InvalidValues
from pools.inventory import budget, pool_server_checks, pool_validation, sql_settings
from pools.inventory.sql_settings import SqlRight
from pools.models import Cluster, NodeRole, Pool, Pooler, PoolState
from pools.poolers import KINDS, kinds_that

logger = logging.getLogger(__name__)

Problems = Iterator[tuple[str, str]]
FIELDS = ("name", "through", "target", "database", "user", "mode", "size", "settings")
FIXED = ("pooler", "cluster")
Record = TypeVar("Record", Pooler, Cluster)


class InvalidPool(InvalidValues):
    """What was typed for a pool can't be taken."""


def create(values: dict[str, Any], author: models.Model | None = None, right: SqlRight = SqlRight.ANY) -> Pool:
    """Save a new pool, pending, and ask for its apply.

    `values`: name, pooler, cluster (records or their ids), database, user (empty: the inbound user), mode, size,
    settings, user_password where the panel doesn't know it, and over_budget_confirm (the cluster's name) where
    the pool may take more than the budget has. `right`: which SQL the author may have run by a setting. Raises
    `InvalidPool` and `NotAllowed`, with nothing changed.
    """
    pool, confirmed = _spec(values), values.get("over_budget_confirm") or ""
    password = _typed_password(pool, values)
    InvalidPool.refuse(pool_validation.problems(pool))
    sql_settings.refuse_for_pool(pool, None, right)
    InvalidPool.refuse(chain(_clashes(pool), budget.problems(pool, confirmed)))  # before any server is asked
    InvalidPool.refuse(pool_server_checks.problems(pool, password))
    with transaction.atomic():
        _lock(pool)
        checks = (_clashes(pool), budget.problems(pool, confirmed), other_passwords(pool, password))
        InvalidPool.refuse(chain(*checks))
        # one that waits for its removal under this name is replaced: the pooler knows entries by name only
        Pool.objects.filter(pooler=pool.pooler, name=pool.name).delete()
        pool.over_budget_by = budget.allowed_by(pool, author)
        pool.save(force_insert=True)
        _keep_password(pool, password, author)
        task_queue.ask([pool.pooler_id], author)
    logger.info("pool %s (%s) created by %s", pool.pk, pool, author)
    return pool


def change(
    pool: Pool,
    values: dict[str, Any],
    expected_version: int | None,
    author: models.Model | None = None,
    right: SqlRight = SqlRight.ANY,
) -> Pool:
    """Write the given fields over the pool's in place and ask for its apply.

    Raises `InvalidPool`, `NotAllowed` (see `create`), `Stale` when the pool was edited since `expected_version` (None:
    whatever stands), and `IllegalTransition` when it is being removed.
    """
    pool_set = Pool.objects.select_related("pooler", "cluster").get(pk=pool.pk)
    _refuse_if_leaving(pool_set)
    spec = _spec({name: getattr(pool_set, name) for name in (*FIELDS, *FIXED)} | values)
    spec.pk = pool_set.pk
    password = _typed_password(spec, values)
    InvalidPool.refuse(chain(_moved(pool_set, spec), pool_validation.problems(spec)))
    sql_settings.refuse_for_pool(spec, pool_set, right)
    InvalidPool.refuse(pool_server_checks.problems(spec, password))
    with transaction.atomic():
        _lock(spec)
        pool_set.refresh_from_db()
        _refuse_if_leaving(pool_set)
        confirmed = values.get("over_budget_confirm") or ""
        checks = (_clashes(spec), budget.problems(spec, confirmed, pool_set), other_passwords(spec, password))
        InvalidPool.refuse(chain(*checks))
        Pool.objects.filter(pooler=spec.pooler, name=spec.name).exclude(pk=spec.pk).delete()  # waiting for removal
        written = {name: getattr(spec, name) for name in FIELDS if name in values}
        written["over_budget_by"] = budget.allowed_by(spec, author, pool_set)
        pool.edit(expected_version, state=PoolState.PENDING, state_reason="", **written)
        _keep_password(pool, password, author)
        task_queue.ask([pool.pooler_id], author)
    logger.info("pool %s (%s) changed by %s", pool.pk, pool, author)
    return pool


def remove(pool: Pool, author: models.Model | None = None) -> None:
    """Ask for the pool to be taken off its pooler; its record goes once that is proven."""
    with transaction.atomic():
        Pool.objects.wanted().filter(pk=pool.pk).update(
            removal_requested_at=timezone.now(),
            updated_at=timezone.now(),
            state=PoolState.PENDING,
            state_reason="",
            version=models.F("version") + 1,
        )
        task_queue.ask([pool.pooler_id], author)
    pool.refresh_from_db()
    logger.info("pool %s (%s) is to be removed, asked by %s", pool.pk, pool, author)


def _spec(values: dict[str, Any]) -> Pool:
    """An unsaved pool of what was typed; raises `InvalidPool` where its pooler or cluster is not there."""
    pooler, cluster = _found(Pooler, values.get("pooler")), _found(Cluster, values.get("cluster"))
    if pooler is None or cluster is None:
        absent = [field for field, record in (("pooler", pooler), ("cluster", cluster)) if record is None]
        raise InvalidPool({field: [f"choose a {field} that is registered"] for field in absent})
    return Pool(
        pooler=pooler,
        cluster=cluster,
        through=_chosen_through(values.get("through")),
        target=values.get("target") or NodeRole.PRIMARY,
        name=values.get("name") or "",
        database=values.get("database") or "",
        user=values.get("user") or "",
        mode=values.get("mode") or KINDS[pooler.kind].usual_mode,
        size=values.get("size") or KINDS[pooler.kind].usual_size(pooler) or 0,
        settings=values.get("settings") or {},
    )


def _chosen_through(given: Any) -> Pooler | None:
    """The Pgpool-II of a chain; raises `InvalidPool` where it is not there."""
    if not given:
        return None
    found = _found(Pooler, given)
    if found is None:
        raise InvalidPool({"through": ["choose a pooler that is registered, or none"]})
    return found


def _typed_password(spec: Pool, values: dict[str, Any]) -> str:
    """What was typed as the user's password; the inbound user has none to give."""
    return (values.get("user_password") or "") if spec.user else ""


def _found(model: type[Record], given: Any) -> Record | None:
    """The record given, or the one of that id."""
    if isinstance(given, model):
        return given
    try:
        return model._default_manager.filter(pk=given).first()
    except ValidationError:  # not a UUID
        return None


def _refuse_if_leaving(pool: Pool) -> None:
    if pool.removal_requested_at is not None:
        raise IllegalTransition(f"pool {pool} is being removed: make a new one of that name instead")


def _moved(pool_set: Pool, spec: Pool) -> Problems:
    for field in FIXED:
        before, after = getattr(pool_set, field), getattr(spec, field)
        if before != after:
            yield field, f"a pool stays on its {field} {before}: make a new pool on {after}, then remove this one"


def _lock(spec: Pool) -> None:
    """Hold the pooler's and the cluster's row until the commit, so that no two pools share one free connection.

    SQLite has no row locks; its transactions begin IMMEDIATE (panel.lib.database_url), which excludes other writers.
    """
    for field, model in (("pooler", Pooler), ("cluster", Cluster)):
        held = model._default_manager.select_for_update().filter(pk=getattr(spec, f"{field}_id")).first()
        if held is None:
            raise InvalidPool({field: [f"{field} {getattr(spec, field)} was removed meanwhile: choose another"]})


def _clashes(spec: Pool) -> Problems:
    """What keeps it from standing beside the other pools of its pooler."""
    yield from KINDS[spec.pooler.kind].clashes(spec)
    if Pool.objects.wanted().filter(pooler=spec.pooler, name=spec.name).exclude(pk=spec.pk).exists():
        yield "name", f"there is a pool named {spec.name!r} on pooler {spec.pooler} already: choose another name"


def other_passwords(spec: Pool, user_password: str) -> Problems:
    """(field, message) where the password can't be the login's: a pooler has one list of users for all its clusters."""
    role = spec.login or spec.cluster.auth_role
    password = user_password or spec.cluster.password_of(role)
    for other in _clusters_beside(spec, role):
        if other.password_of(role) not in (None, password):
            yield (
                "user",
                f"role {role!r} has another password on cluster {other}, which is behind the same pooler, "
                "and a pooler has one list of users: give both the same password, or use another role or pooler",
            )
    if spec.pooler.admin_user == role and spec.pooler.admin_password != password:
        yield (
            "user",
            f"{role!r} is also the console login of pooler {spec.pooler}, with another password, "
            "and a pooler has one list of users: use another role",
        )


def _clusters_beside(spec: Pool, role: str) -> Iterable[Cluster]:
    """The other clusters with a pool that needs this role, on a pooler where this cluster has, or will have, one."""
    has_lookup = Q(user="", pooler__kind__in=kinds_that("has_auth_query")) & ~Q(cluster__auth_role="")
    needed = (has_lookup & Q(cluster__auth_role=role)) | (Q(user="", cluster__admin_user=role) & ~has_lookup)
    pools = Pool.objects.wanted().filter(needed | Q(user=role))
    poolers = {spec.pooler_id, *pools.filter(cluster=spec.cluster).values_list("pooler_id", flat=True)}
    others = pools.filter(pooler__in=poolers).exclude(cluster=spec.cluster)
    return Cluster.objects.filter(pk__in=others.values("cluster"))


def _keep_password(pool: Pool, user_password: str, author: models.Model | None) -> None:
    """Store a password that was proven by a login, and render anew the other pools that log in with it."""
    if not user_password or user_password == pool.cluster.password_of(pool.user):
        return
    pool.cluster.keep_password(pool.user, user_password)
    task_queue.ask_again(pool.cluster.pools.wanted().filter(user=pool.user).exclude(pk=pool.pk), author)
