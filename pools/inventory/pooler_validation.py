"""Validates the values of a pooler: its address, its folder, how its files get there, and its processes."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from core.lib import addresses
from pools.config_files import deliveries
from pools.inventory import budget
from pools.models import Host, Pooler, PoolerKind, identifiers
from pools.models.poolers import MOST_PROCESSES
from pools.poolers import KINDS


def name_taken_message(name: str) -> str:
    """Return why a name can't be given once more."""
    return _("the name %(name)r is taken: choose another name") % {"name": name}


def problems(pooler: Pooler, fields: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield field and message of each value that a pooler can't have; an empty message is none."""
    port, folder = fields["port"], fields["config_dir"]
    others = Pooler.objects.exclude(pk=pooler.pk)
    yield "name", identifiers.identifier_problem(fields["name"])
    yield "name", name_taken_message(fields["name"]) if others.filter(name=fields["name"]).exists() else ""
    yield "kind", _kind_problem(fields["kind"])
    yield "host", identifiers.host_problem(fields["host"]) or _address_problem(fields["host"], port)
    yield "port", _port_problem(port)
    yield "pcp_port", _pcp_port_problem(fields["pcp_port"], fields["kind"])
    yield "admin_user", identifiers.identifier_problem(fields["admin_user"])
    yield "config_dir", _folder_problem(pooler, folder)
    yield "config_file", _file_problem(folder, fields["config_file"])
    yield "client_host", identifiers.host_problem(fields["client_host"]) if fields["client_host"] else ""
    yield "delivery", _delivery_problem(pooler, fields)
    yield from _processes_problems(pooler, fields)
    yield "client_port", _port_problem(fields["client_port"]) if fields["client_port"] is not None else ""
    yield from (
        KINDS[fields["kind"]].console_problems(folder, fields["stats_address"]) if fields["kind"] in KINDS else ()
    )
    yield from host_problems(fields)
    known = fields["delivery"] in deliveries.DELIVERIES
    for other in deliveries.others_in(_like(pooler, fields), folder) if folder and known else ():
        text = _("%(folder)s is the folder of pooler %(pooler)s: two would overwrite each other's pools")
        yield "config_dir", text % {"folder": folder, "pooler": other}


def host_problems(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield why files can't reach the pooler as it says."""
    if message := _generator_problem(fields["generator"]):
        yield "generator", message
    delivery, host = deliveries.DELIVERIES.get(fields["delivery"]), fields["ssh_host"]
    if delivery is None:
        return
    if delivery.needs_host and host is None:
        yield "ssh_host", _("choose the host that the panel reaches by SSH, or another delivery")
    elif host is not None and not delivery.needs_host:
        text = _("%(delivery)s needs no host: leave it empty, or choose the delivery %(others)s")
        yield "ssh_host", text % {"delivery": fields["delivery"], "others": _those_with_a_host()}


def _generator_problem(name: str) -> str:
    """Return why no worker of this name can write the files: it is a host by SSH, where none runs; else empty."""
    host = Host.objects.filter(generator__name=name).first() if name else None
    if host is None:
        return ""
    text = _(
        "generator %(name)s is the host %(host)s, which is reached by SSH, and no worker: choose the delivery "
        "%(others)s with this host, or name a worker that runs beside the pooler"
    )
    return text % {"name": name, "host": host, "others": _those_with_a_host()}


def _those_with_a_host() -> str:
    return ", ".join(deliveries.names_that("needs_host"))


def _processes_problems(pooler: Pooler, fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield why the pooler can't have so many processes."""
    count = fields["desired_processes"]
    if message := count_problem(fields, count):
        yield "desired_processes", message
    elif not pooler._state.adding:
        yield from budget.processes_problems(pooler, count)


def count_problem(fields: Mapping[str, Any], count: object) -> str:
    """Return why no pooler with these fields can have so many processes, whatever the budget; an empty text is none."""
    kind, delivery = fields["kind"], fields["delivery"]
    if not isinstance(count, int) or not 1 <= count <= MOST_PROCESSES:
        return _("%(count)r is not a number from 1 to %(most)d") % {"count": count, "most": MOST_PROCESSES}
    if count == 1 or kind not in KINDS or delivery not in deliveries.DELIVERIES:
        return ""
    if KINDS[kind].process_plan is None:
        return _("a %(kind)s starts its own processes: leave it at 1") % {"kind": PoolerKind(kind).label}
    if not fields["config_dir"]:
        return _("the pooler is only watched, so the panel writes none of its files: take it over first")
    if not deliveries.DELIVERIES[delivery].writes:
        return _("its host fetches the files, and starts as many of it as it needs: leave it at 1")
    return ""


def _like(pooler: Pooler, fields: Mapping[str, Any]) -> Pooler:
    """Return the unsaved record of a pooler with these fields."""
    return Pooler(**{"id": pooler.pk, **fields})


def _delivery_problem(pooler: Pooler, fields: Mapping[str, Any]) -> str:
    delivery, kind = fields["delivery"], fields["kind"]
    if delivery not in deliveries.DELIVERIES:
        text = _("%(delivery)r is not a way of delivery: choose one of %(choices)s")
        return text % {"delivery": delivery, "choices": ", ".join(deliveries.DELIVERIES)}
    if pooler.file_paths and delivery != pooler.delivery:
        return _("its files were taken over where they lie: let the pooler go first")
    if deliveries.DELIVERIES[delivery].writes or kind not in KINDS or KINDS[kind].is_fetchable:
        return ""
    text = _(
        "the files of a %(kind)s can't be fetched by its host, since it does not show what it runs with, as the "
        "console of a PgBouncer does, and the panel could not verify them: let a worker on its host write them"
    )
    return text % {"kind": PoolerKind(kind).label}


def _kind_problem(kind: str) -> str:
    if kind in PoolerKind.values:
        return ""
    return _("%(kind)r is not one of %(kinds)s") % {"kind": kind, "kinds": ", ".join(PoolerKind.values)}


def _port_problem(port: object) -> str:
    if isinstance(port, int) and 1 <= port <= 65535:
        return ""
    return _("%(port)r is not a port: enter a number from 1 to 65535") % {"port": port}


def _address_problem(host: str, port: object) -> str:
    return addresses.refusal(host, port) if isinstance(port, int) and 1 <= port <= 65535 else ""


def _pcp_port_problem(port: object, kind: str) -> str:
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
