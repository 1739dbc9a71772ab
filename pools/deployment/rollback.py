"""Rolls a pooler back to an applied revision, and previews what that would do to its pools and settings."""

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.audit.acts import recorded
from pools import task_queue
from pools.approvals.acts import ROLL_BACK
from pools.approvals.holding import held_back
from pools.deployment import snapshots
from pools.errors import InvalidValues
from pools.inventory import budget, pool_validation, pooler_settings_validation, pooler_validation
from pools.inventory.budget import Budget
from pools.models import (
    AS_APPLIED,
    Cluster,
    NodeRole,
    Pool,
    Pooler,
    PoolerFile,
    PoolSpec,
    PoolState,
    Revision,
    RevisionState,
    Specs,
    TakeOver,
)
from pools.poolers.settings_schema import Scope

Budgets = Mapping[tuple[NodeRole, UUID], Budget]

logger = logging.getLogger(__name__)

WRITTEN = [
    *(field.name for field in snapshots.DESIRED),
    "state",
    "state_reason",
    "version",
    "removal_requested_at",
    "updated_at",
]
MOST_LISTED = 10


class CannotRollBack(InvalidValues):
    """A revision's spec is no longer valid; nothing was changed."""


@dataclass(frozen=True)
class Plan:
    """The pools to change, to create again with their old ids, and to remove."""

    changed: Collection[Pool]
    again: Collection[Pool]
    leaving: Collection[Pool]


@held_back(ROLL_BACK)
@recorded("pooler.roll_back", "revision")
def roll_back(pooler: Pooler, revision: Revision, author: models.Model | None = None) -> None:
    """Restore the spec of `revision` as the pooler's desired state, and queue its apply.

    Pools changed since become pending with their old values, those created since are marked for removal, those removed
    since come back with their ids; settings, users and given files too. Passwords are not restored: a role has the
    present one of its cluster. Raises `CannotRollBack` naming the obstacles, with nothing changed.
    """
    pooler.require_managed()
    with transaction.atomic():
        _restore(pooler, revision, author)
        task_queue.ask([pooler.pk], author)
    pooler.refresh_from_db()
    logger.info("pooler %s is to be rolled back to %s, requested by %s", pooler.pk, revision, author)


def _restore(pooler: Pooler, revision: Revision, author: models.Model | None) -> None:
    _refuse(_obstacles(pooler, revision))
    locked = Pooler.objects.select_for_update().get(pk=pooler.pk)
    locked.require_managed()  # it may have been let go in the meantime
    TakeOver.objects.refuse_releasing(locked)
    records = revision.specs["pools"]
    held = Cluster.objects.order_by("pk").select_for_update(no_key=True)
    clusters = held.in_bulk({UUID(record["cluster_id"]) for record in records})
    locked.pools.all().hold()
    _refuse(_lost_clusters(records, clusters))
    plan = _plan(locked, records, clusters)
    fresh = [*plan.changed, *plan.again]
    _refuse(chain(_broken_rules(fresh), _bad_settings(locked, revision)))
    before = _budgets(clusters)
    _write(plan)
    # The settings come first, since the budget counts the pooler's processes.
    _restore_settings(locked, revision, author)
    _refuse(_over_budget(before, _budgets(clusters), clusters))
    Pooler.objects.filter(pk=locked.pk).update(spec_cause=_("rollback to %(number)s") % {"number": revision.number})


def _refuse(messages: Iterator[str]) -> None:
    reasons = list(messages)
    listed, more = reasons[:MOST_LISTED], len(reasons) - MOST_LISTED
    if more > 0:
        text = ngettext("%(more)d more reason is not listed", "%(more)d more reasons are not listed", more)
        listed.append(text % {"more": more})
    CannotRollBack.refuse(("revision", message) for message in listed)


def _obstacles(pooler: Pooler, revision: Revision) -> Iterator[str]:
    if revision.pooler_id != pooler.pk:
        yield _("%(revision)s does not belong to pooler %(pooler)s") % {"revision": revision, "pooler": pooler}
    elif revision.state != RevisionState.APPLIED:
        params = {"revision": revision, "state": revision.get_state_display()}
        yield _("%(revision)s never was live (%(state)s): choose an applied one") % params
    elif not revision.specs:
        params = {"revision": revision}
        yield _("%(revision)s dates from a release that did not store its spec: choose a later one") % params


def _lost_clusters(records: Collection[PoolSpec], clusters: Mapping[UUID, Cluster]) -> Iterator[str]:
    for record in records:
        if UUID(record["cluster_id"]) not in clusters:
            params = {"pool": record["name"], "cluster": record["cluster_name"]}
            yield _("pool %(pool)s routed to cluster %(cluster)s, which is no longer registered") % params


def _plan(pooler: Pooler, records: Collection[PoolSpec], clusters: Mapping[UUID, Cluster]) -> Plan:
    pools_by_id = {str(pool.pk): pool for pool in pooler.pools.select_related("cluster")}
    changed, again = [], []
    for record in records:
        pool = pools_by_id.pop(record["id"], None)
        if pool is None:
            again.append(_restored(Pool(pk=UUID(record["id"]), pooler=pooler), record, clusters))
        elif not _is_live_as(pool, record):
            changed.append(_restored(pool, record, clusters))
    return Plan(changed, again, list(pools_by_id.values()))


def _is_live_as(pool: Pool, record: PoolSpec) -> bool:
    settled = pool.state in AS_APPLIED and pool.removal_requested_at is None
    return settled and {**snapshots.of_pool(pool), "cluster_name": ""} == {**record, "cluster_name": ""}


def _restored(pool: Pool, record: PoolSpec, clusters: Mapping[UUID, Cluster]) -> Pool:
    """Set the record's fields on the pool; a field added by a later release keeps its value."""
    columns: Mapping[str, object] = record
    for field in snapshots.DESIRED:
        if field.attname in columns:
            setattr(pool, field.attname, field.to_python(columns[field.attname]))
    pool.cluster, pool.updated_at = clusters[UUID(record["cluster_id"])], timezone.now()
    pool.state, pool.state_reason, pool.removal_requested_at = PoolState.PENDING, "", None
    pool.version += 1
    return pool


def _broken_rules(pools: Collection[Pool]) -> Iterator[str]:
    for pool in pools:
        yield from (
            _("pool %(name)s: %(message)s") % {"name": pool.name, "message": message}
            for _field, message in pool_validation.problems(pool)
        )


def _bad_settings(pooler: Pooler, revision: Revision) -> Iterator[str]:
    """Yield the problems of settings and processes that the pooler, as it is now, no longer accepts."""
    specs = revision.specs
    problems = [pooler_settings_validation.value_problems(pooler, Scope.PROGRAM, specs.get("settings", {}))]
    for own in specs.get("user_settings", {}).values():
        problems.append(pooler_settings_validation.value_problems(pooler, Scope.USER, own))
    problems.append(pooler_settings_validation.file_problems(pooler, revision.given))
    yield from (message for _, message in chain.from_iterable(problems))
    if message := pooler_validation.count_problem(vars(pooler), specs.get("processes", pooler.desired_processes)):
        yield message


def _write(plan: Plan) -> None:
    """Write the plan; mark all pools as leaving before any takes a name, since two may have swapped theirs."""
    now = timezone.now()
    for pool in plan.changed:
        pool.removal_requested_at = now
    Pool.objects.bulk_update(plan.changed, ["removal_requested_at"])
    for pool in plan.changed:
        pool.removal_requested_at = None
    for pool in plan.leaving:
        pool.removal_requested_at, pool.version = pool.removal_requested_at or now, pool.version + 1
        pool.state, pool.state_reason = PoolState.PENDING, ""
    Pool.objects.bulk_update(plan.leaving, ["removal_requested_at", "version", "state", "state_reason"])
    Pool.objects.bulk_update(plan.changed, WRITTEN)
    Pool.objects.bulk_create(plan.again)


def _budgets(clusters: Mapping[UUID, Cluster]) -> Budgets:
    """Return the budgets of the primaries, and of the standbys, by role and cluster id."""
    found = {role: budget.of_clusters(clusters.values(), target=role) for role in NodeRole}
    return {(role, pk): figures for role, of_role in found.items() for pk, figures in of_role.items()}


def _over_budget(before: Budgets, after: Budgets, clusters: Mapping[UUID, Cluster]) -> Iterator[str]:
    """Yield the servers whose pools would exceed the budget and grow; a rollback may always take less."""
    for (role, pk), figures in after.items():
        if figures.available is None or not figures.over or figures.allocated <= before[role, pk].allocated:
            continue
        text = _over_standbys(figures.allocated) if role == NodeRole.STANDBY else _over_primary(figures.allocated)
        free = max(0, figures.available - figures.unmanaged.connections)
        yield text % {"allocated": figures.allocated, "cluster": clusters[pk], "available": free}


def _over_primary(allocated: int) -> str:
    return ngettext(
        "its pools would take %(allocated)s connection of cluster %(cluster)s, which has only %(available)s for pools: "
        "make room first",
        "its pools would take %(allocated)s connections of cluster %(cluster)s, which has only %(available)s for "
        "pools: make room first",
        allocated,
    )


def _over_standbys(allocated: int) -> str:
    return ngettext(
        "its pools would take %(allocated)s connection of each standby of cluster %(cluster)s, which has only "
        "%(available)s for pools: make room first",
        "its pools would take %(allocated)s connections of each standby of cluster %(cluster)s, which has only "
        "%(available)s for pools: make room first",
        allocated,
    )


def _restore_settings(pooler: Pooler, revision: Revision, author: models.Model | None) -> None:
    specs = revision.specs
    if "settings" not in specs:
        return
    uploads = revision.given
    files_now = {one.setting: one.content for one in pooler.given_files.all()}
    count = specs.get("processes", pooler.desired_processes)
    now, then = (pooler.settings, pooler.user_settings, files_now), (specs["settings"], specs["user_settings"], uploads)
    same = now == then and count == pooler.desired_processes
    if same and pooler.settings_state == PoolState.APPLIED:
        return
    _restore_files(pooler, files_now, uploads, author)
    values = {"settings": then[0], "user_settings": then[1], "desired_processes": count}
    pooler.edit(None, settings_state=PoolState.PENDING, settings_reason="", **values)


def _restore_files(
    pooler: Pooler, files_now: Mapping[str, str], given: Mapping[str, str], author: models.Model | None
) -> None:
    pooler.given_files.exclude(setting__in=given).delete()
    for setting, content in given.items():
        if files_now.get(setting) != content:
            file = PoolerFile(pooler=pooler, setting=setting)
            file.content = content
            values = {"sealed_content": file.sealed_content, "author": author, "updated_at": timezone.now()}
            PoolerFile.objects.update_or_create(pooler=pooler, setting=setting, defaults=values)


MOST_NAMED = 50


@dataclass(frozen=True)
class Part:
    """One effect of a rollback; `whom` are names of pools or sentences."""

    heading: str
    whom: list[str]
    hurts: bool = False  # clients lose what they connect to

    @property
    def named(self) -> list[str]:
        """The first of them, as many as a page shows."""
        return self.whom[:MOST_NAMED]

    @property
    def more(self) -> int:
        """The number of those that are not shown."""
        return len(self.whom) - len(self.named)


def effects(pooler: Pooler, revision: Revision) -> list[Part]:
    """List what a rollback removes, brings back and changes, the worst first; empty where it changes nothing."""
    now, then = Specs.of(snapshots.snapshot(pooler)), Specs.of(revision.specs)
    parts = (
        Part(
            _("Pools that it removes"), [now.pool(pk)["name"] for pk in now.lines if pk not in then.lines], hurts=True
        ),
        Part(_("Pools that it brings back"), [then.pool(pk)["name"] for pk in then.lines if pk not in now.lines]),
        Part(_("Pools that it changes"), list(snapshots.pool_changes(now, then))),
        Part(
            _("Settings and files that it changes"),
            list(snapshots.other_changes(now, then)) if "settings" in then else [],
        ),
    )
    return [part for part in parts if part.whom]
