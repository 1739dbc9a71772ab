"""Registers, changes, removes and checks poolers."""

import copy
import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

from django.db import IntegrityError, transaction
from django.db.models import Model
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.accounts.models import FIRST_TEAM, Team
from pools import task_queue
from pools.approvals.acts import REMOVE_POOLER
from pools.approvals.holding import held_back
from pools.clusters.cluster_index import ClusterIndex
from pools.config_files import deliveries, folder_owner
from pools.errors import IllegalTransition, InvalidValues, PoolerUnreachable, PoolsError
from pools.inventory import entries, pooler_validation, restarts
from pools.models import AS_APPLIED, Host, Pooler, PoolerState, PoolState, ProcessRow, Restart
from pools.poolers import KINDS, smart_shutdown
from pools.poolers.console_sample import FoundEntry, PoolFigures

logger = logging.getLogger(__name__)

FIELDS = (
    *("name", "kind", "host", "port", "pcp_port", "admin_user", "config_dir", "config_file", "delivery", "generator"),
    *("client_host", "client_port", "stats_address", "ssh_host", "desired_processes"),
)
OF_HOST = (
    "host",
    "port",
    "config_dir",
    "config_file",
    "delivery",
    "ssh_host",
)  # a change of them leads to other files, or to another program
OF_SECRET = ("secret_owner", "stats_address", "ssh_host_id")  # A change of these sends the password somewhere else.
OF_FILES = ("config_dir", "config_file", "delivery", "ssh_host")
CHECKS_AT_ONCE = 16


@dataclass(frozen=True)
class PoolerCheck:
    """The result of a check: the version (empty when unreachable), the problem, and `Driver.facts`.

    `reason` is None where the console answers and the folder belongs to another generator, `entries` where the program
    does not tell them. `refused`: why its login may only read. `restarts` are those since the check before.
    """

    version: str = ""
    reason: str | None = ""
    facts: dict[str, int] = field(default_factory=dict)
    processes: list[ProcessRow] = field(default_factory=list)
    entries: list[FoundEntry] | None = None
    refused: str = ""
    restarts: list[Restart] = field(default_factory=list)


class InvalidPooler(InvalidValues):
    """The values for a pooler are invalid."""


class PoolerValues(TypedDict, total=False):
    """The fields that `register` and `change` accept; those left out keep their value or their default."""

    name: str
    kind: str
    host: str
    port: int
    pcp_port: int | None
    admin_user: str
    admin_password: str | None  # empty: the stored one stays
    config_dir: str
    config_file: str
    delivery: str
    generator: str
    client_host: str
    client_port: int | None
    stats_address: str
    ssh_host: Host | None
    desired_processes: int


def register(values: PoolerValues, author: Model | None = None, *, team: Team | None = None) -> tuple[Pooler, str]:
    """Save a new pooler and return it with the reason it can't be reached, or an empty text. Raises `InvalidPooler`."""
    pooler = new(values, team)
    admit(pooler, _check(pooler, folder_owner.FolderOwner(pooler.generator)), ClusterIndex.read(), author)
    return pooler, pooler.error


def new(values: PoolerValues, team: Team | None = None) -> Pooler:
    """Return an unsaved pooler of `team`, or of the first one, with its console's password. Raises `InvalidPooler`."""
    fields = _validated(Pooler(), values)
    password = str(values.get("admin_password") or "")
    if not password and KINDS[fields["kind"]].has_console_login:
        raise InvalidPooler({"admin_password": [_("the console's password is needed")]})
    pooler = Pooler(**fields, team_id=team.pk if team else FIRST_TEAM)
    pooler.admin_password = password
    if pooler.desired_processes > 1:
        pooler.settings_state = PoolState.PENDING
    return pooler


def inspect_all(poolers: Iterable[Pooler]) -> list[PoolerCheck]:
    """Check the consoles of unsaved poolers in parallel; nothing is recorded."""
    with ThreadPoolExecutor(CHECKS_AT_ONCE, thread_name_prefix="check") as threads:
        return list(threads.map(lambda pooler: _check(pooler, folder_owner.FolderOwner()), poolers))


def admit(pooler: Pooler, found_by_check: PoolerCheck, index: ClusterIndex, author: Model | None = None) -> None:
    """Save a new pooler with what its check found. Raises `InvalidPooler` where its name was taken meanwhile."""
    with _unique_name(pooler.name):
        pooler.save(force_insert=True)
    logger.info("pooler %s (%s) registered by %s", pooler.pk, pooler, author)
    _record(pooler, found_by_check, index)


def change(
    pooler: Pooler, values: PoolerValues, expected_version: int | None = None, author: Model | None = None
) -> tuple[Pooler, str]:
    """Change some fields, then check the pooler; return as `register` does.

    A new address or login needs the password again; a new address or folder makes its pools pending, so that they are
    applied again. Raises `InvalidPooler`, `Stale`.
    """
    fields = _validated(pooler, values)
    password = str(values.get("admin_password") or "")
    moved = Pooler(**{"id": pooler.pk, **{name: getattr(pooler, name) for name in FIELDS}, **fields})
    is_moved = any(getattr(moved, name) != getattr(pooler, name) for name in OF_SECRET)
    if not password and pooler.sealed_admin_password and is_moved:
        raise InvalidPooler({"admin_password": [_("the address or the login changed: enter the password again")]})
    if password:
        moved.admin_password = password
        fields["sealed_admin_password"] = moved.sealed_admin_password
    generator = pooler.generator
    elsewhere = any(fields[name] != getattr(pooler, name) for name in OF_HOST)
    if pooler.file_paths and any(fields[name] != getattr(pooler, name) for name in OF_FILES):
        raise InvalidPooler({"config_dir": [_("its files were taken over where they lie: let the pooler go first")]})
    if is_resized := fields["desired_processes"] != pooler.desired_processes:
        fields |= {"settings_state": PoolState.PENDING, "settings_reason": ""}
    with _unique_name(fields["name"]):
        pooler.edit(expected_version, **fields)
        if elsewhere:
            pooler.pools.filter(state__in=AS_APPLIED).update(state=PoolState.PENDING)
            folder_owner.forget(pooler)
    if elsewhere or moved.generator != generator:
        pooler.error = ""  # it may be about the old folder
    logger.info("pooler %s (%s) changed by %s", pooler.pk, pooler, author)
    reason = check(pooler)
    if is_resized:
        task_queue.ask([pooler.pk], author)
    return pooler, reason


@dataclass(frozen=True)
class Place:
    """The delivery and host by which a pooler's files are read and written, before it is taken over."""

    delivery: str
    ssh_host: Host | None
    generator: str

    def applied_to(self, pooler: Pooler) -> Pooler:
        """Return a copy of its record, unsaved, with this place."""
        placed = copy.copy(pooler)
        placed.delivery, placed.ssh_host, placed.generator = self.delivery, self.ssh_host, self.generator
        return placed

    def record(self, pooler: Pooler) -> None:
        """Save it, where it is another one."""
        now = {"delivery": self.delivery, "ssh_host": self.ssh_host, "generator": self.generator}
        if any(getattr(pooler, name) != value for name, value in now.items()):
            pooler.edit(None, **now)


def checked_place(pooler: Pooler, delivery: str | None, host: Host | None, generator: str | None = None) -> Place:
    """Return the place to take a pooler over from: what is not given stays. Raises `InvalidPooler`."""
    place = Place(
        delivery or pooler.delivery,
        host if delivery else host or pooler.ssh_host,
        pooler.generator if generator is None else generator,
    )
    fields = {
        "kind": pooler.kind,
        "delivery": place.delivery,
        "ssh_host": place.ssh_host,
        "generator": place.generator,
    }
    named = {"ssh_host": "host"}  # the contract's name of the field
    InvalidPooler.refuse((named.get(name, name), problem) for name, problem in pooler_validation.host_problems(fields))
    return place


@held_back(REMOVE_POOLER)
def remove(pooler: Pooler) -> None:
    """Delete a pooler's record; its files stay as they are.

    Raises `IllegalTransition` while it has pools, or a worker writes its files to take it over or let it go.
    """
    with transaction.atomic():
        Pooler.objects.hold(pooler.pk)
        if message := _kept_because(pooler):
            raise IllegalTransition(message)
        pooler.delete()


def _kept_because(pooler: Pooler) -> str:
    if count := pooler.pools.count():
        text = ngettext(
            "pooler %(pooler)s still has %(count)s pool: delete it first",
            "pooler %(pooler)s still has %(count)s pools: delete them first",
            count,
        )
        return text % {"pooler": pooler, "count": count}
    if chained := pooler.chained_pools.first():
        text = _("pool %(pool)s of pooler %(pooler)s routes through %(through)s: delete it first")
        return text % {"pool": chained, "pooler": chained.pooler, "through": pooler}
    if pooler.take_overs.waiting().exists():  # who wrote which file would be forgotten
        return _("pooler %(pooler)s is being taken over or let go: wait until that is done") % {"pooler": pooler}
    return ""


def check(pooler: Pooler) -> str:
    """Check the console and the folder and record the result; return why it can't be used, or an empty text."""
    found_by_check = _check(pooler, folder_owner.of(pooler))
    _record(pooler, found_by_check, ClusterIndex.read())
    return pooler.error


def check_all(poolers: Iterable[Pooler] | None = None) -> None:
    """Check poolers in parallel, so that one that is down delays no other."""
    to_check = list(poolers if poolers is not None else Pooler.objects.select_related("ssh_host__jump__jump"))
    with ThreadPoolExecutor(CHECKS_AT_ONCE, thread_name_prefix="check") as threads:
        kept = folder_owner.of_all(to_check)
        snapshots = threads.map(
            _check, to_check, [kept.get(pooler.pk, folder_owner.FolderOwner()) for pooler in to_check]
        )
        index = ClusterIndex.read()
        for pooler, found_by_check in zip(to_check, snapshots, strict=True):
            _record(pooler, found_by_check, index)


def pool_figures(pooler: Pooler) -> dict[str, PoolFigures]:
    """Return the connections of each pool now, by pool name, summed over users. Raises `PoolerUnreachable`."""
    return KINDS[pooler.kind].sample(pooler).figures


@contextmanager
def _unique_name(name: str) -> Iterator[None]:
    """Raise `InvalidPooler` where two registrations at once take the same name, as the database reports."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise InvalidPooler({"name": [pooler_validation.name_taken_message(name)]}) from None


def _check(pooler: Pooler, owner: folder_owner.FolderOwner) -> PoolerCheck:
    """Check its console and its folder; touches no record, so that threads may call it."""
    kind, found = KINDS[pooler.kind], PoolerCheck()
    try:
        found = PoolerCheck(kind.check(pooler), processes=pooler.processes, refused=pooler.commands_refused)
        facts, processes = kind.facts(pooler), kind.processes(pooler, found.version)
        since = restarts.between(pooler, pooler.processes, processes)
        pooler.processes = processes  # each of them is asked for its entries
        entries, refused = kind.entries(pooler), kind.commands_refused(pooler)
        found = replace(found, facts=facts, processes=processes, entries=entries, refused=refused, restarts=since)
        if pooler.is_watched:
            return found
        if not owner.is_here:
            return replace(found, reason=None)
        deliveries.of(pooler).refuse_unsafe(pooler, pooler.config_dir)
        kind.refuse_layout(pooler)
    except PoolerUnreachable as error:
        return PoolerCheck(reason=smart_shutdown.explain(pooler) or str(error))
    except PoolsError as error:  # whatever it is, the other poolers of the round are checked
        return replace(found, reason=str(error))
    return replace(found, reason=refused)


def _record(pooler: Pooler, found_by_check: PoolerCheck, index: ClusterIndex) -> None:
    """Save the result and the entries; pools whose size is their pooler's get it."""
    reason = found_by_check.reason
    if reason is None:  # Only its generator can tell what is wrong with the folder of an online pooler.
        reason = pooler.error if pooler.state == PoolerState.ONLINE else ""
    pooler.mark(
        PoolerState.ONLINE if found_by_check.version else PoolerState.UNREACHABLE,
        found_by_check.version,
        reason,
        found_by_check.facts,
        found_by_check.processes,
        found_by_check.refused,
    )
    Restart.objects.bulk_create(found_by_check.restarts, ignore_conflicts=True)
    if found_by_check.version and (size := KINDS[pooler.kind].usual_size(pooler)):
        pooler.pools.exclude(size=size).update(size=size)
    if KINDS[pooler.kind].has_unread_processes(pooler):  # an apply reads back what it wrote for them
        settled = Pooler.objects.filter(pk=pooler.pk, version=pooler.version, settings_state__in=AS_APPLIED)
        settled.update(settings_state=PoolState.PENDING)
    if found_by_check.entries is not None:
        entries.record(pooler, found_by_check.entries, index)


def _validated(pooler: Pooler, values: PoolerValues) -> dict[str, Any]:
    """Return the given fields, trimmed and typed, and the pooler's others. Raises `InvalidPooler`."""
    known = {name: value for name, value in values.items() if name in FIELDS}
    trimmed = {name: value.strip() if isinstance(value, str) else value for name, value in known.items()}
    fields = {name: getattr(pooler, name) for name in FIELDS} | trimmed
    fields["config_dir"], fields["config_file"] = _normal(fields["config_dir"]), _normal(fields["config_file"])
    InvalidPooler.refuse((name, problem) for name, problem in pooler_validation.problems(pooler, fields) if problem)
    usual = f"{fields['config_dir']}/{KINDS[fields['kind']].main_file}"
    if fields["config_file"] == usual and not pooler.file_paths:
        fields["config_file"] = ""  # the usual one, which moves with the folder
    return fields


def _normal(folder: str) -> str:
    """Remove `//`, `/./` and a slash at the end, which make two names of one folder; `..` stays and is refused."""
    return "/" * folder.startswith("/") + "/".join(part for part in folder.split("/") if part not in ("", "."))
