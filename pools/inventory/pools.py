"""Creates, changes and removes pools: validated as a whole, saved as pending, applied by the workers."""

import logging
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypedDict, TypeVar, cast
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pools import task_queue
from pools.approvals.acts import CHANGE_POOL, CREATE_POOL, REMOVE_POOL
from pools.approvals.holding import held_back
from pools.errors import IllegalTransition, InvalidValues, NotThere
from pools.inventory import budget, pool_validation, sql_settings
from pools.inventory.sql_settings import SqlRight
from pools.models import Cluster, NodeRole, Pool, Pooler, PoolState, TakeOver
from pools.poolers import KINDS, kinds_that

logger = logging.getLogger(__name__)

Problems = Iterator[tuple[str, str]]
FIELDS = (
    "name",
    "through",
    "target",
    "database",
    "user",
    "mode",
    "size",
    "allowed_users",
    "settings",
    "password_for_developers",
)
FIXED = ("pooler", "cluster")
Record = TypeVar("Record", Pooler, Cluster)
_CHOOSE = {
    "pooler": gettext_lazy("choose a pooler that is registered"),
    "cluster": gettext_lazy("choose a cluster that is registered"),
}
_STAYS = {
    "pooler": gettext_lazy("a pool stays on its pooler %(before)s: make a new pool on %(after)s, then remove this one"),
    "cluster": gettext_lazy(
        "a pool stays on its cluster %(before)s: make a new pool on %(after)s, then remove this one"
    ),
}
_REMOVED = {
    "pooler": gettext_lazy("pooler %(name)s was removed in the meantime: choose another"),
    "cluster": gettext_lazy("cluster %(name)s was removed in the meantime: choose another"),
}


class InvalidPool(InvalidValues):
    """The values for a pool are invalid."""


class PoolValues(TypedDict, total=False):
    """The fields that `create` and `change` accept; those left out keep their value or their default."""

    name: str
    pooler: Pooler | UUID | str | None  # the record or its id
    cluster: Cluster | UUID | str | None  # the record or its id
    through: Pooler | UUID | str | None  # the Pgpool-II of a chain, or its id
    target: str
    database: str
    user: str  # empty: the inbound user
    mode: str
    size: int | None
    allowed_users: str | list[str] | None  # a list, or one a line
    settings: dict[str, object] | None
    password_for_developers: bool
    user_password: str | None  # needed where the panel does not know it
    over_budget_confirm: str | None  # the cluster's name, where the pool may exceed the budget


def _checked(values: PoolValues, right: SqlRight) -> tuple[Pool, str]:
    """Return an unsaved pool of valid values, and the password given for its user. Raises as `create`."""
    pool = _unsaved(values)
    password = _typed_password(pool, values)
    InvalidPool.refuse(pool_validation.problems(pool))
    sql_settings.refuse_for_pool(pool, None, right)
    # These checks need no server, so they come first.
    confirmed = values.get("over_budget_confirm") or ""
    InvalidPool.refuse(chain(_clashes(pool), budget.problems(pool, confirmed)))
    InvalidPool.refuse(_entry_conflicts(pool))
    InvalidPool.refuse(pool_validation.server_problems(pool, password))
    sql_settings.refuse_powerful(pool, None, right)
    return pool, password


def _refuse_before_asking(values: PoolValues, right: SqlRight, **_others: object) -> dict[str, object]:
    """Refuse what a second person could not let happen either."""
    _checked(values, right)
    return {}


@held_back(CREATE_POOL, _refuse_before_asking)
def create(
    values: PoolValues,
    author: models.Model | None = None,
    right: SqlRight = SqlRight.ANY,
    made_for: str = "",
    auth_method: str = "",
) -> Pool:
    """Save a new pool as pending and request its apply.

    `right`: which SQL and which roles the author may set. `made_for`: the experiment that makes it for itself, and
    `auth_method` that of its clients (`AuthMethod`). Raises `InvalidPool` and `NotAllowed`, with nothing changed.
    """
    pool, password = _checked(values, right)
    confirmed = values.get("over_budget_confirm") or ""
    with transaction.atomic():
        _lock(pool, password)
        checks = (_clashes(pool), budget.problems(pool, confirmed), other_passwords(pool, password))
        InvalidPool.refuse(chain(*checks))
        # one that waits for its removal under this name is replaced: the pooler knows entries by name only
        Pool.objects.filter(pooler=pool.pooler, name=pool.name).delete()
        pool.over_budget_by, pool.made_for = budget.allowed_by(pool, author), made_for
        pool.auth_method = auth_method
        pool.save(force_insert=True)
        _keep_password(pool, password, author)
        task_queue.ask([pool.pooler_id], author)
    logger.info("pool %s (%s) created by %s", pool.pk, pool, author)
    return pool


@held_back(CHANGE_POOL)
def change(
    pool: Pool,
    values: PoolValues,
    expected_version: int | None,
    author: models.Model | None = None,
    right: SqlRight = SqlRight.ANY,
) -> Pool:
    """Overwrite the given fields of the pool and request its apply.

    Raises `InvalidPool`, `NotAllowed` (see `create`), `Stale` when the pool was edited since `expected_version` (None:
    not checked), `IllegalTransition` when it is being removed, and `NotThere` when it is gone.
    """
    existing = _current(pool)
    _refuse_if_leaving(existing)
    before = {name: getattr(existing, name) for name in (*FIELDS, *FIXED)}
    spec = _unsaved(cast(PoolValues, {**before, **values}))
    spec.pk = existing.pk
    password = _typed_password(spec, values)
    InvalidPool.refuse(chain(_changed_fixed_fields(existing, spec), pool_validation.problems(spec)))
    sql_settings.refuse_for_pool(spec, existing, right)
    InvalidPool.refuse(_entry_conflicts(spec) if spec.name != existing.name else ())
    InvalidPool.refuse(pool_validation.server_problems(spec, password, existing))
    sql_settings.refuse_powerful(spec, existing, right)
    with transaction.atomic():
        _lock(spec, password)
        _refresh(existing)
        _refuse_if_leaving(existing)
        confirmed = values.get("over_budget_confirm") or ""
        checks = (_clashes(spec), budget.problems(spec, confirmed, existing), other_passwords(spec, password))
        InvalidPool.refuse(chain(*checks))
        Pool.objects.filter(pooler=spec.pooler, name=spec.name).exclude(pk=spec.pk).delete()  # waiting for removal
        written = {name: getattr(spec, name) for name in FIELDS if name in values}
        written["over_budget_by"] = budget.allowed_by(spec, author, existing)
        pool.edit(expected_version, state=PoolState.PENDING, state_reason="", **written)
        _keep_password(pool, password, author)
        task_queue.ask([pool.pooler_id], author)
    logger.info("pool %s (%s) changed by %s", pool.pk, pool, author)
    return pool


@held_back(REMOVE_POOL)
def remove(pool: Pool, author: models.Model | None = None) -> None:
    """Request that the pool be removed from its pooler; its record is deleted once that is verified.

    Raises `NotThere` where another request's removal is verified already.
    """
    with transaction.atomic():
        Pool.objects.wanted().filter(pk=pool.pk).update(
            removal_requested_at=timezone.now(),
            updated_at=timezone.now(),
            state=PoolState.PENDING,
            state_reason="",
            version=models.F("version") + 1,
        )
        _refresh(pool)  # The refresh comes before the commit: after it, a worker may delete the record at any moment.
        task_queue.ask([pool.pooler_id], author)
    logger.info("pool %s (%s): removal requested by %s", pool.pk, pool, author)


def _current(pool: Pool) -> Pool:
    try:
        return Pool.objects.select_related("pooler", "cluster").get(pk=pool.pk)
    except Pool.DoesNotExist:
        raise _gone(pool) from None


def _refresh(pool: Pool) -> None:
    try:
        pool.refresh_from_db()
    except Pool.DoesNotExist:
        raise _gone(pool) from None


def _gone(pool: Pool) -> NotThere:
    return NotThere(_("pool %(pool)s was removed in the meantime") % {"pool": pool})


def _unsaved(values: PoolValues) -> Pool:
    """Return an unsaved pool of the given values. Raises `InvalidPool` where its pooler or cluster does not exist."""
    pooler, cluster = _found(Pooler, values.get("pooler")), _found(Cluster, values.get("cluster"))
    if pooler is None or cluster is None:
        absent = [field for field, record in (("pooler", pooler), ("cluster", cluster)) if record is None]
        raise InvalidPool({field: [str(_CHOOSE[field])] for field in absent})
    database = values.get("database") or ""
    return Pool(
        pooler=pooler,
        cluster=cluster,
        through=_chosen_through(values.get("through")),
        target=values.get("target") or NodeRole.PRIMARY,
        name=values.get("name") or KINDS[pooler.kind].only_name(pooler, database),
        database=database,
        user=values.get("user") or "",
        mode=values.get("mode") or KINDS[pooler.kind].usual_mode,
        size=values.get("size") or KINDS[pooler.kind].usual_size(pooler) or 0,
        allowed_users=pool_validation.written_users(values.get("allowed_users")),
        settings=values.get("settings") or {},
        password_for_developers=bool(values.get("password_for_developers")),
    )


def _chosen_through(given: object) -> Pooler | None:
    """Return the Pgpool-II of a chain. Raises `InvalidPool` where it does not exist."""
    if not given:
        return None
    found = _found(Pooler, given)
    if found is None:
        raise InvalidPool({"through": [_("choose a pooler that is registered, or none")]})
    return found


def _typed_password(spec: Pool, values: PoolValues) -> str:
    """Return the given password of the user; the inbound user has none."""
    return (values.get("user_password") or "") if spec.user else ""


def _found(model: type[Record], given: object) -> Record | None:
    """Return the given record, or the one with that id."""
    if isinstance(given, model):
        return given
    if not isinstance(given, UUID | str):
        return None
    try:
        return model._default_manager.filter(pk=given).first()
    except ValidationError:  # The value is not a UUID.
        return None


def _refuse_if_leaving(pool: Pool) -> None:
    if pool.removal_requested_at is not None:
        raise IllegalTransition(_("pool %(pool)s is being removed: create a new one of that name") % {"pool": pool})


def _changed_fixed_fields(existing: Pool, spec: Pool) -> Problems:
    for field in FIXED:
        before, after = getattr(existing, field), getattr(spec, field)
        if before != after:
            yield field, _STAYS[field] % {"before": before, "after": after}


def _lock(spec: Pool, password: str) -> None:
    """Hold the pooler's and the cluster's row until the commit, so that no two pools share one free connection.

    Then hold the pools that are written: it, the one whose name it takes, and with a new password those of its user.
    SQLite has no row locks; its transactions begin IMMEDIATE (core.lib.database_url), which excludes other writers.
    """
    pooler = Pooler.objects.hold(spec.pooler_id)
    if pooler is None:
        raise InvalidPool({"pooler": [_REMOVED["pooler"] % {"name": spec.pooler}]})
    if not Cluster.objects.select_for_update(no_key=True).filter(pk=spec.cluster_id).exists():
        raise InvalidPool({"cluster": [_REMOVED["cluster"] % {"name": spec.cluster}]})
    pooler.require_managed()  # it may have been let go in the meantime
    TakeOver.objects.refuse_releasing(pooler)
    of_user = Q(cluster=spec.cluster_id, user=spec.user) if password else Q()
    Pool.objects.filter(Q(pk=spec.pk) | Q(pooler=spec.pooler_id, name=spec.name) | of_user).hold()


def _clashes(spec: Pool) -> Problems:
    """Yield the fields that conflict with another pool of the pooler."""
    yield from KINDS[spec.pooler.kind].clashes(spec)
    if Pool.objects.wanted().filter(pooler=spec.pooler, name=spec.name).exclude(pk=spec.pk).exists():
        text = _("there is already a pool named %(name)r on pooler %(pooler)s: choose another name")
        yield "name", text % {"name": spec.name, "pooler": spec.pooler}


def _entry_conflicts(spec: Pool) -> Problems:
    """Yield a problem where the pooler has an entry of that name which the panel does not manage, its last check says.

    What is gone meanwhile, or is an automatic database of `*`, may become a pool.
    """
    is_known = spec.pooler.entries.unmanaged().filter(name=spec.name).exists()
    if is_known and (claim := KINDS[spec.pooler.kind].claim_on(spec.pooler, spec.name)):
        yield "name", claim


def other_passwords(spec: Pool, user_password: str) -> Problems:
    """Yield (field, message) where the login has another password: a pooler has one user list for all clusters."""
    role = spec.login or spec.cluster.auth_role
    password = user_password or spec.cluster.password_of(role)
    for other in _clusters_beside(spec, role):
        if other.password_of(role) not in (None, password):
            text = _(
                "role %(role)r has another password on cluster %(cluster)s, which is behind the same pooler, "
                "and a pooler has one list of users: give both the same password, or use another role or pooler"
            )
            yield "user", text % {"role": role, "cluster": other}
    if spec.pooler.admin_user == role and spec.pooler.admin_password != password:
        text = _(
            "%(role)r is also the console login of pooler %(pooler)s, with another password, "
            "and a pooler has one list of users: use another role"
        )
        yield "user", text % {"role": role, "pooler": spec.pooler}


def _clusters_beside(spec: Pool, role: str) -> Iterable[Cluster]:
    """Return the other clusters with a pool that needs this role, on a pooler that this cluster is or will be on."""
    has_lookup = Q(user="", pooler__kind__in=kinds_that("has_auth_query")) & ~Q(cluster__auth_role="")
    needed = (has_lookup & Q(cluster__auth_role=role)) | (Q(user="", cluster__admin_user=role) & ~has_lookup)
    pools = Pool.objects.wanted().filter(needed | Q(user=role))
    pooler_ids = {spec.pooler_id, *pools.filter(cluster=spec.cluster).values_list("pooler_id", flat=True)}
    others = pools.filter(pooler__in=pooler_ids).exclude(cluster=spec.cluster)
    return Cluster.objects.filter(pk__in=others.values("cluster"))


def _keep_password(pool: Pool, user_password: str, author: models.Model | None) -> None:
    """Store a password that a login has verified, and apply the other pools that log in with it again."""
    if not user_password or user_password == pool.cluster.password_of(pool.user):
        return
    pool.cluster.keep_password(pool.user, user_password)
    task_queue.ask_again(pool.cluster.pools.wanted().filter(user=pool.user).exclude(pk=pool.pk), author)
