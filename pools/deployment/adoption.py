"""Adopts manual edits of a pooler's files into the panel's records: all of them, or none."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.audit.acts import recorded
from pools import task_queue
from pools.config_files import folder_owner
from pools.deployment import live_files
from pools.errors import HostUnreachable, InvalidValues
from pools.hosts.base import UnsafeFolder
from pools.inventory import budget, pool_validation, pooler_choice, pooler_settings_validation
from pools.models import Cluster, Pool, Pooler, PoolerFile, PoolState, RolePassword, TakeOver
from pools.poolers import KINDS
from pools.poolers.adoption import Adoption
from pools.poolers.settings_schema import Scope

logger = logging.getLogger(__name__)


class CannotAdopt(InvalidValues):
    """Some line has no equivalent in the panel's records; nothing was changed."""


def preview(pooler: Pooler) -> Adoption:
    """Return the changes of the pooler's files since the last applied revision; raises `UnsafeFolder`."""
    owner = folder_owner.of(pooler)
    if not owner.is_here:
        raise UnsafeFolder(
            _("only generator %(generator)s can read its files: overwrite them, or make the changes in the panel")
            % {"generator": owner.generator}
        )
    return KINDS[pooler.kind].adoption(live_files.settled_texts(pooler), live_files.on_disk(pooler))


@recorded("pooler.adopt")
def adopt(pooler: Pooler, author: models.Model | None = None) -> None:
    """Write the changes to the records, and queue an apply that verifies them. Raises `CannotAdopt`, `QueueDown`.

    Passwords of known roles are adopted too; the apply tries each by a login before anything is written.
    """
    pooler.require_managed()
    try:
        adoption = preview(pooler)
    except (UnsafeFolder, HostUnreachable) as error:
        raise CannotAdopt({"drift": [str(error)]}) from error
    _refuse(str(refusal) for refusal in adoption.refused)
    with transaction.atomic():
        locked = Pooler.objects.select_for_update().get(pk=pooler.pk)
        locked.require_managed()  # it may have been let go in the meantime
        TakeOver.objects.refuse_releasing(locked)
        locked.pools.all().hold()
        _adopt(locked, adoption, author)
        Pooler.objects.filter(pk=pooler.pk).update(spec_cause=_("manual edits adopted"))
        task_queue.ask_to_overwrite(pooler.pk, author)
    pooler.refresh_from_db()
    logger.info("manual edits of pooler %s adopted, requested by %s", pooler.pk, author)


def _refuse(messages: Iterable[str]) -> None:
    CannotAdopt.refuse(("drift", message) for message in messages)


def _adopt(pooler: Pooler, adoption: Adoption, author: models.Model | None) -> None:
    pools_by_id = {pool.pk: pool for pool in pooler.pools.select_related("cluster", "pooler")}
    _refuse(
        _("pooler %(pooler)s has no pool with the id %(pk)s") % {"pk": pk, "pooler": pooler}
        for pk in adoption.changed
        if pk not in pools_by_id
    )
    before = _budgets()
    for pk in adoption.gone & pools_by_id.keys():
        pools_by_id[pk].edit(None, removal_requested_at=timezone.now(), state=PoolState.PENDING, state_reason="")
    pools = [_changed(pools_by_id[pk], fields) for pk, fields in adoption.changed.items()]
    pools += [_new_pool(pooler, fields) for fields in adoption.fresh]
    _refuse(
        _("pool %(pool)s: %(message)s") % {"pool": pool, "message": message}
        for pool in pools
        for _field, message in pool_validation.problems(pool)
    )
    _refuse(_name_conflicts(pooler, pools, adoption))
    for pool in pools:
        pool.save()
    _refuse(_over_budget(before))
    _adopt_passwords(pooler, adoption.passwords)
    _adopt_program(pooler, adoption, author)


def _changed(pool: Pool, fields: Mapping[str, Any]) -> Pool:
    for name, value in _typed(pool.pooler, fields).items():
        setattr(pool, name, value)
    pool.state, pool.state_reason, pool.version = PoolState.PENDING, "", pool.version + 1
    return pool


def _new_pool(pooler: Pooler, fields: Mapping[str, Any]) -> Pool:
    """Build a new pool; raise `CannotAdopt` unless exactly one usable cluster is at its host and port."""
    address, usable = (fields["host"], fields["port"]), pooler_choice.usable_clusters(pooler)
    there = usable.filter(host=address[0], port=address[1]) if address[1].isdecimal() else usable.none()
    if there.count() != 1:
        _refuse([_ambiguous(fields["name"], f"{address[0]}:{address[1]}", is_known=there.exists())])
    values = {name: value for name, value in fields.items() if name not in ("host", "port")}
    return Pool(pooler=pooler, cluster=there.get(), **_typed(pooler, values))


def _ambiguous(name: str, address: str, *, is_known: bool) -> str:
    if is_known:
        message = _("pool %(pool)s routes to %(address)s, where several clusters are registered")
    else:
        message = _("pool %(pool)s routes to %(address)s, where no cluster is registered")
    return message % {"pool": name, "address": address}


def _typed(pooler: Pooler, fields: Mapping[str, Any]) -> dict[str, object]:
    """Convert the texts of an entry to the types of a pool's fields."""
    typed = dict(fields)
    if str(typed.get("size", "")).isdecimal():
        typed["size"] = int(typed["size"])
    if "settings" in typed:
        typed["settings"] = _typed_settings(pooler, Scope.POOL, typed["settings"])
    return typed


def _typed_settings(pooler: Pooler, scope: Scope, texts: Mapping[str, str]) -> dict[str, object]:
    _refuse(message for _, message in pooler_settings_validation.value_problems(pooler, scope, texts))
    known = pooler_settings_validation.offered(pooler, scope)
    return {name: pooler_settings_validation.typed(known[name], value) for name, value in texts.items()}


def _name_conflicts(pooler: Pooler, pools: Iterable[Pool], adoption: Adoption) -> Iterator[str]:
    pools = list(pools)
    own = {pool.pk for pool in pools} | adoption.gone
    names = set(pooler.pools.wanted().exclude(pk__in=own).values_list("name", flat=True))
    for pool in pools:
        if pool.name in names:
            yield _("pooler %(pooler)s already has a pool named %(name)s") % {"name": pool.name, "pooler": pooler}
        names.add(pool.name)


def _budgets() -> dict[Any, budget.Budget]:
    return budget.of_clusters(Cluster.objects.all())


def _over_budget(before: Mapping[Any, budget.Budget]) -> Iterator[str]:
    for cluster in Cluster.objects.all():
        figures = budget.of_clusters([cluster])[cluster.pk]
        if figures.free is not None and figures.free < 0 and figures.allocated > before[cluster.pk].allocated:
            text = ngettext(
                "the pools would take %(allocated)s connection of cluster %(cluster)s, which has only %(available)s",
                "the pools would take %(allocated)s connections of cluster %(cluster)s, which has only %(available)s",
                figures.allocated,
            )
            yield text % {"allocated": figures.allocated, "cluster": cluster, "available": figures.available}


def _adopt_passwords(pooler: Pooler, passwords: Mapping[str, str]) -> None:
    """Store a role's password for each cluster that the pooler's pools log in to with it."""
    for role, password in passwords.items():
        pools = pooler.pools.wanted().filter(user=role).select_related("cluster")
        clusters = {pool.cluster for pool in pools}
        if not clusters:
            _refuse(
                [
                    _("%(role)s is not the user of any pool, so its password can't be adopted: change it at its source")
                    % {"role": role}
                ]
            )
        for cluster in clusters:
            known = RolePassword(cluster=cluster, role=role)
            known.password = password
            sealed = {"sealed_password": known.sealed_password}
            RolePassword.objects.update_or_create(cluster=cluster, role=role, defaults=sealed)
        pools.update(state=PoolState.PENDING, state_reason="")


def _adopt_program(pooler: Pooler, adoption: Adoption, author: models.Model | None) -> None:
    written: dict[str, object] = {}
    if adoption.settings is not None:
        written["settings"] = _typed_settings(pooler, Scope.PROGRAM, adoption.settings)
    if adoption.changed_settings:
        values = {name: value for name, value in adoption.changed_settings.items() if value is not None}
        kept = {name: value for name, value in pooler.settings.items() if name not in adoption.changed_settings}
        written["settings"] = kept | _typed_settings(pooler, Scope.PROGRAM, values)
    if adoption.users is not None:
        _refuse(
            message for user in adoption.users for _, message in pooler_settings_validation.user_problems(pooler, user)
        )
        written["user_settings"] = {
            user: _typed_settings(pooler, Scope.USER, own) for user, own in adoption.users.items()
        }
    _refuse(message for _, message in pooler_settings_validation.file_problems(pooler, adoption.given))
    given_files = {one.setting: one.content for one in pooler.given_files.all()} if adoption.given else {}
    spec = pooler_settings_validation.Spec({}, given_files | adoption.given)
    _refuse(message for _, message in pooler_settings_validation.disagreements(pooler, spec, None))
    for setting, content in adoption.given.items():
        file = PoolerFile(pooler=pooler, setting=setting)
        file.content = content
        kept = {"sealed_content": file.sealed_content, "author": author, "updated_at": timezone.now()}
        PoolerFile.objects.update_or_create(pooler=pooler, setting=setting, defaults=kept)
    if written or adoption.given:
        pooler.edit(None, settings_state=PoolState.PENDING, settings_reason="", **written)
