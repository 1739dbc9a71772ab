"""Registers, changes, removes and checks poolers."""

import copy
import logging
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from panel.lib import addresses
from pools.clusters.cluster_index import ClusterIndex
from pools.config_files import deliveries, folder_owner
from pools.errors import ApplyFailed, IllegalTransition, InvalidValues, PoolerUnreachable
from pools.inventory import entries
from pools.models import AS_APPLIED, Host, Pooler, PoolerKind, PoolerState, PoolState, identifiers
from pools.poolers import KINDS, smart_shutdown
from pools.poolers.console_sample import FoundEntry, PoolFigures

logger = logging.getLogger(__name__)

FIELDS = (
    *("name", "kind", "host", "port", "pcp_port", "admin_user", "config_dir", "config_file", "delivery", "generator"),
    *("client_host", "client_port", "stats_address", "ssh_host"),
)
OF_HOST = (
    "host",
    "port",
    "config_dir",
    "config_file",
    "delivery",
    "ssh_host",
)  # a change of them leads to other files, or to another program
OF_SECRET = ("secret_owner", "stats_address", "ssh_host_id")  # who gets the password
OF_FILES = ("config_dir", "config_file", "delivery", "ssh_host")
CHECKS_AT_ONCE = 16


@dataclass(frozen=True)
class PoolerCheck:
    """The result of a check: the version (empty when unreachable), the problem, and `Driver.facts`.

    `reason` is None where the console answers and the folder belongs to another generator, `entries` where the program
    does not tell them. `refused`: why its login may only read.
    """

    version: str = ""
    reason: str | None = ""
    facts: dict[str, int] = field(default_factory=dict)
    processes: list[dict[str, object]] = field(default_factory=list)
    entries: list[FoundEntry] | None = None
    refused: str = ""


class InvalidPooler(InvalidValues):
    """The values for a pooler are invalid."""


def register(values: Mapping[str, Any], author: Any = None) -> tuple[Pooler, str]:
    """Save a new pooler and return it with the reason it can't be reached, or an empty text. Raises `InvalidPooler`."""
    pooler = drafted(values)
    admit(pooler, _check(pooler, folder_owner.FolderOwner(pooler.generator)), ClusterIndex.read(), author)
    return pooler, pooler.error


def drafted(values: Mapping[str, Any]) -> Pooler:
    """Return an unsaved pooler of valid values, with its console's password. Raises `InvalidPooler`."""
    fields = _validated(Pooler(), values)
    password = str(values.get("admin_password") or "")
    if not password and KINDS[fields["kind"]].has_console_login:
        raise InvalidPooler({"admin_password": [_("the console's password is needed")]})
    pooler = Pooler(**fields)
    pooler.admin_password = password
    return pooler


def inspect_all(poolers: Iterable[Pooler]) -> list[PoolerCheck]:
    """Check the consoles of unsaved poolers in parallel; nothing is recorded."""
    with ThreadPoolExecutor(CHECKS_AT_ONCE, thread_name_prefix="check") as threads:
        return list(threads.map(lambda pooler: _check(pooler, folder_owner.FolderOwner()), poolers))


def admit(pooler: Pooler, found_by_check: PoolerCheck, index: ClusterIndex, author: Any = None) -> None:
    """Save a new pooler with what its check found. Raises `InvalidPooler` where its name was taken meanwhile."""
    with _names_kept_apart(pooler.name):
        pooler.save(force_insert=True)
    logger.info("pooler %s (%s) registered by %s", pooler.pk, pooler, author)
    _record(pooler, found_by_check, index)


def change(
    pooler: Pooler, values: Mapping[str, Any], expected_version: int | None = None, author: Any = None
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
    with _names_kept_apart(fields["name"]):
        pooler.edit(expected_version, **fields)
        if elsewhere:
            pooler.pools.filter(state__in=AS_APPLIED).update(state=PoolState.PENDING)
            folder_owner.forget(pooler)
    if elsewhere or moved.generator != generator:
        pooler.error = ""  # it may be about the old folder
    logger.info("pooler %s (%s) changed by %s", pooler.pk, pooler, author)
    return pooler, check(pooler)


@dataclass(frozen=True)
class Place:
    """From where the files of a pooler are read and written, before it is taken over."""

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
    fields = {"kind": pooler.kind, "delivery": place.delivery, "ssh_host": place.ssh_host}
    named = {"ssh_host": "host"}  # the contract's name of the field
    InvalidPooler.refuse((named.get(name, name), problem) for name, problem in _host_problems(fields))
    return place


def remove(pooler: Pooler) -> None:
    """Delete a pooler's record; its files stay as they are. Raises `IllegalTransition` while it has pools."""
    if count := pooler.pools.count():
        text = ngettext(
            "pooler %(pooler)s still has %(count)s pool: delete it first",
            "pooler %(pooler)s still has %(count)s pools: delete them first",
            count,
        )
        raise IllegalTransition(text % {"pooler": pooler, "count": count})
    if chained := pooler.chained_pools.first():
        text = _("pool %(pool)s of pooler %(pooler)s routes through %(through)s: delete it first")
        raise IllegalTransition(text % {"pool": chained, "pooler": chained.pooler, "through": pooler})
    pooler.delete()


def check(pooler: Pooler) -> str:
    """Check the console and the folder and record the result; return why it can't be used, or an empty text."""
    found_by_check = _check(pooler, folder_owner.of(pooler))
    _record(pooler, found_by_check, ClusterIndex.read())
    return pooler.error


def check_all(poolers: Iterable[Pooler] | None = None) -> None:
    """Check poolers in parallel, so that one that is down delays no other."""
    asked = list(poolers if poolers is not None else Pooler.objects.select_related("ssh_host__jump__jump"))
    with ThreadPoolExecutor(CHECKS_AT_ONCE, thread_name_prefix="check") as threads:
        kept = folder_owner.of_all(asked)
        snapshots = threads.map(_check, asked, [kept.get(pooler.pk, folder_owner.FolderOwner()) for pooler in asked])
        index = ClusterIndex.read()
        for pooler, found_by_check in zip(asked, snapshots, strict=True):
            _record(pooler, found_by_check, index)


def pool_figures(pooler: Pooler) -> dict[str, PoolFigures]:
    """Return the connections of each pool now, by pool name, summed over users. Raises `PoolerUnreachable`."""
    return KINDS[pooler.kind].sample(pooler).figures


@contextmanager
def _names_kept_apart(name: str) -> Iterator[None]:
    """Raise `InvalidPooler` where two registrations at once take the same name, as the database reports."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise InvalidPooler({"name": [_taken(name)]}) from None


def _taken(name: str) -> str:
    return _("a pooler named %(name)r is already registered: choose another name") % {"name": name}


def _check(pooler: Pooler, owner: folder_owner.FolderOwner) -> PoolerCheck:
    """Check its console and its folder; touches no record, so that threads may call it."""
    kind, found = KINDS[pooler.kind], PoolerCheck()
    try:
        found = PoolerCheck(version=kind.check(pooler))
        facts, processes = kind.facts(pooler), kind.processes(pooler, found.version)
        pooler.processes = processes  # each of them is asked for its entries
        entries, refused = kind.entries(pooler), kind.commands_refused(pooler)
        found = replace(found, facts=facts, processes=processes, entries=entries, refused=refused)
        if pooler.is_watched:
            return found
        if not owner.is_here:
            return replace(found, reason=None)
        deliveries.of(pooler).refuse_unsafe(pooler, pooler.config_dir)
        kind.refuse_layout(pooler)
    except PoolerUnreachable as error:
        deliveries.of(pooler).begin_anew(pooler)
        return PoolerCheck(reason=smart_shutdown.described(pooler) or str(error))
    except ApplyFailed as error:
        return replace(found, reason=str(error))
    return replace(found, reason=refused)


def _record(pooler: Pooler, found_by_check: PoolerCheck, index: ClusterIndex) -> None:
    """Save the result and the entries; pools whose size is their pooler's get it."""
    reason = found_by_check.reason
    if reason is None:  # only its generator can tell what is wrong with an online pooler's folder
        reason = pooler.error if pooler.state == PoolerState.ONLINE else ""
    pooler.mark(
        PoolerState.ONLINE if found_by_check.version else PoolerState.UNREACHABLE,
        found_by_check.version,
        reason,
        found_by_check.facts,
        found_by_check.processes,
        found_by_check.refused,
    )
    if found_by_check.version and (size := KINDS[pooler.kind].usual_size(pooler)):
        pooler.pools.exclude(size=size).update(size=size)
    if found_by_check.entries is not None:
        entries.record(pooler, found_by_check.entries, index)


def _validated(pooler: Pooler, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given fields, trimmed and typed, and the pooler's others. Raises `InvalidPooler`."""
    given = {name: values[name] for name in FIELDS if name in values}
    trimmed = {name: value.strip() if isinstance(value, str) else value for name, value in given.items()}
    fields = {name: getattr(pooler, name) for name in FIELDS} | trimmed
    fields["config_dir"], fields["config_file"] = _normal(fields["config_dir"]), _normal(fields["config_file"])
    InvalidPooler.refuse((name, problem) for name, problem in _problems(pooler, fields) if problem)
    if fields["config_file"] == f"{fields['config_dir']}/{KINDS[fields['kind']].main_file}":
        fields["config_file"] = ""  # the usual one, which moves with the folder
    return fields


def _normal(folder: str) -> str:
    """Remove `//`, `/./` and a slash at the end, which make two names of one folder; `..` stays and is refused."""
    return "/" * folder.startswith("/") + "/".join(part for part in folder.split("/") if part not in ("", "."))


def _problems(pooler: Pooler, fields: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    port, folder = fields["port"], fields["config_dir"]
    others = Pooler.objects.exclude(pk=pooler.pk)
    yield "name", identifiers.identifier_problem(fields["name"])
    yield "name", _taken(fields["name"]) if others.filter(name=fields["name"]).exists() else ""
    yield "kind", _kind_problem(fields["kind"])
    yield "host", identifiers.host_problem(fields["host"]) or _address_problem(fields["host"], port)
    yield "port", _port_problem(port)
    yield "pcp_port", _pcp_port_problem(fields["pcp_port"], fields["kind"])
    yield "admin_user", identifiers.identifier_problem(fields["admin_user"])
    yield "config_dir", _folder_problem(pooler, folder)
    yield "config_file", _file_problem(folder, fields["config_file"])
    yield "client_host", identifiers.host_problem(fields["client_host"]) if fields["client_host"] else ""
    yield "delivery", _delivery_problem(pooler, fields)
    yield "client_port", _port_problem(fields["client_port"]) if fields["client_port"] is not None else ""
    yield from (
        KINDS[fields["kind"]].console_problems(folder, fields["stats_address"]) if fields["kind"] in KINDS else ()
    )
    yield from _host_problems(fields)
    known = fields["delivery"] in deliveries.DELIVERIES
    for other in deliveries.others_in(_like(pooler, fields), folder) if folder and known else ():
        text = _("%(folder)s is the folder of pooler %(pooler)s: two would overwrite each other's pools")
        yield "config_dir", text % {"folder": folder, "pooler": other}


def _host_problems(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield why files can't reach the pooler as it says."""
    delivery, host = deliveries.DELIVERIES.get(fields["delivery"]), fields["ssh_host"]
    if delivery is None:
        return
    if delivery.needs_host and host is None:
        yield "ssh_host", _("choose the host that the panel reaches by SSH, or another delivery")
    elif host is not None and not delivery.needs_host:
        yield "ssh_host", _("%(delivery)s needs no host: leave it empty, or choose the delivery ssh") % fields
    if delivery is not None and delivery.needs_host and not _is_reached_by_host(fields["kind"]):
        yield "delivery", _("the panel can't work on a %(kind)s by SSH yet: use a worker on its host") % fields


def _is_reached_by_host(kind: str) -> bool:
    return kind in KINDS and KINDS[kind].works_by_host


def _like(pooler: Pooler, fields: Mapping[str, Any]) -> Pooler:
    """Return the unsaved record of a pooler with these fields."""
    return Pooler(**{"id": pooler.pk, **fields})


def _delivery_problem(pooler: Pooler, fields: Mapping[str, Any]) -> str:
    delivery, kind = fields["delivery"], fields["kind"]
    if delivery not in deliveries.DELIVERIES:
        text = _("%(delivery)r is no way of delivery: use one of %(choices)s")
        return text % {"delivery": delivery, "choices": ", ".join(deliveries.DELIVERIES)}
    if pooler.file_paths and delivery != pooler.delivery:
        return _("its files were taken over where they lie: let the pooler go first")
    if deliveries.DELIVERIES[delivery].writes or kind not in KINDS or KINDS[kind].is_fetchable:
        return ""
    text = _("the files of a %(kind)s are not fetched: only a PgBouncer shows all that is in them at its console")
    return text % {"kind": PoolerKind(kind).label}


def _kind_problem(kind: str) -> str:
    if kind in PoolerKind.values:
        return ""
    return _("%(kind)r is not one of %(kinds)s") % {"kind": kind, "kinds": ", ".join(PoolerKind.values)}


def _port_problem(port: Any) -> str:
    if isinstance(port, int) and 1 <= port <= 65535:
        return ""
    return _("%(port)r is not a port from 1 to 65535") % {"port": port}


def _address_problem(host: str, port: Any) -> str:
    return addresses.refusal(host, port) if isinstance(port, int) and 1 <= port <= 65535 else ""


def _pcp_port_problem(port: Any, kind: str) -> str:
    if port is None:
        return ""
    if kind in KINDS and not KINDS[kind].control_port:
        return _("only a Pgpool-II has a PCP port: leave it empty")
    return _port_problem(port)


def _folder_problem(pooler: Pooler, folder: str) -> str:
    if not folder:
        has_pools = not pooler._state.adding and pooler.pools.exists()
        return _("the panel's pools are in its files: let it go first, or remove its pools") if has_pools else ""
    return _path_problem(folder)


def _file_problem(folder: str, file: str) -> str:
    if file and not folder:
        return _("%(file)s is only known with its folder: give both, or take the pooler over") % {"file": file}
    return _path_problem(file) if file else ""


def _path_problem(path: str) -> str:
    if not path.startswith("/") or ".." in path.split("/"):
        return _("%(folder)r is not an absolute path: write it from / on, without ..") % {"folder": path}
    return identifiers.line_problem(path)
