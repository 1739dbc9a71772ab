"""Registers, changes, removes and checks hosts that are reached by SSH."""

import logging
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypedDict

from django.db import IntegrityError, connections, transaction
from django.db.models import Model, ProtectedError
from django.utils import timezone
from django.utils.translation import gettext as _

from core.accounts.models import FIRST_TEAM, Team
from core.lib import addresses
from pools.errors import HostUnreachable, IllegalTransition, InvalidValues
from pools.hosts import keys, ssh, ssh_client
from pools.hosts.base import HostConnection, HostRefused
from pools.models import FoundPooler, Host, HostCheck, HostState, identifiers
from pools.poolers import running

logger = logging.getLogger(__name__)

FIELDS = ("name", "address", "port", "user", "jump")
PLACE = ("address", "port", "user", "jump")  # a change of these needs a new check
ADDRESS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,254}")
USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,61}\$?")
# programs needed besides sh; from util-linux and coreutils, or from busybox
NEEDED = ("flock", "timeout", "sync", "sha256sum")
SHOWN = ("pgbouncer", "pgpool", "haproxy", "pgbench", "psql", "bwrap")
# bubblewrap needs user namespaces, which many containers and some systems forbid to accounts
SANDBOX_TRIAL = ("bwrap", "--unshare-all", "--share-net", "--cap-drop", "ALL", "--ro-bind", "/", "/", "true")
CHECKS_AT_ONCE = 8


class InvalidHost(InvalidValues):
    """The values for a host are invalid."""


class HostValues(TypedDict, total=False):
    """The fields that `register` and `change` accept; those left out keep their value or their default."""

    name: str
    address: str
    port: int
    user: str
    jump: Host | None  # the host over which the login goes


def register(values: HostValues, author: Model | None = None, *, team: Team | None = None) -> Host:
    """Save a new host with a key of its own, and see which key it offers. Raises `InvalidHost`."""
    fields = _validated(Host(), values)
    host = Host(**fields, team_id=team.pk if team else FIRST_TEAM)
    host.private_key, host.public_key = keys.new_pair()
    with _unique_name(host.name):
        host.save(force_insert=True)
    logger.info("host %s (%s) registered by %s", host.pk, host, author)
    check(host)
    return host


def change(host: Host, values: HostValues, expected_version: int | None = None, author: Model | None = None) -> Host:
    """Change some fields, then check the host; its key stays pinned. Raises `InvalidHost`, `Stale`."""
    fields = _validated(host, values)
    moved = any(fields[name] != getattr(host, name) for name in PLACE)
    with _unique_name(fields["name"]):
        host.edit(expected_version, **fields)
    logger.info("host %s (%s) changed by %s", host.pk, host, author)
    if moved:
        check(host)
    return host


def remove(host: Host) -> None:
    """Delete a host's record, and the panel's key with it. Raises `IllegalTransition` while something needs it."""
    try:
        host.delete()
    except ProtectedError as error:
        needed = ", ".join(sorted(f"{one._meta.verbose_name} {one}" for one in error.protected_objects))
        text = _("host %(host)s is still needed by %(needed)s: change that first")
        raise IllegalTransition(text % {"host": host, "needed": needed}) from error


def confirm_host_key(host: Host, fingerprint: str, author: Model | None = None) -> Host:
    """Pin the key that the host offered, if this is its fingerprint; then check the host. Raises `InvalidHost`."""
    offered = keys.fingerprint(host.offered_host_key)
    if not offered:
        raise InvalidHost({"fingerprint": [_("the host has offered no other key: check it first")]})
    if fingerprint.strip() != offered:
        text = _("%(given)r is not the fingerprint of the key that the host offers (%(offered)s): compare them again")
        raise InvalidHost({"fingerprint": [text % {"given": fingerprint, "offered": offered}]})
    host.edit(None, host_key=host.offered_host_key, offered_host_key="")
    logger.info("the key %s of host %s was confirmed by %s", offered, host.pk, author)
    check(host)
    return host


def check(host: Host) -> None:
    """Log in and find the programs; record the result. A host whose key nobody confirmed is only asked for it."""
    host.mark(**_checked(host))


def check_again() -> None:
    """Check the hosts that could not be reached, at once, so that one comes back without anybody's help."""
    unreachable = Host.objects.filter(state=HostState.UNREACHABLE).exclude(host_key="")
    hosts = list(unreachable.select_related("jump__jump__jump__jump"))
    with ThreadPoolExecutor(CHECKS_AT_ONCE, thread_name_prefix="check") as threads:
        for host, found in zip(hosts, threads.map(_checked_in_thread, hosts), strict=True):
            host.mark(**found)


def discover(host: Host) -> list[FoundPooler]:
    """Find the poolers that run there, and record them. Raises `HostUnreachable`, `HostRefused`."""
    with ssh.connected(host) as connection:
        found = running.on_host(connection)
    host.record_found(found, timezone.now())
    return found


def _checked_in_thread(host: Host) -> HostCheck:
    try:
        return _checked(host)
    finally:
        connections.close_all()


def _checked(host: Host) -> HostCheck:
    try:
        if not host.is_confirmed:
            offered = ssh_client.offered_key(ssh_client.hops_to(host))
            return {"state": HostState.UNCONFIRMED, "offered_host_key": offered}
        with ssh.connected(host) as connection:
            programs = _programs(connection)
    except ssh_client.KeyNotConfirmed as error:
        unreachable: HostCheck = {"state": HostState.UNREACHABLE, "error": str(error)}
        offered = _other_key(host, error)
        return {**unreachable, "offered_host_key": offered} if offered else unreachable
    except (HostUnreachable, HostRefused) as error:
        return {"state": HostState.UNREACHABLE, "error": str(error)}
    missing = [name for name in NEEDED if name not in programs]
    reason = _("%(programs)s: not installed there, so nothing can be written") % {"programs": ", ".join(missing)}
    programs_shown = {name: programs[name] for name in SHOWN if name in programs}
    return {
        "state": HostState.ONLINE,
        "error": reason if missing else "",
        "programs": programs_shown,
        "offered_host_key": "",
    }


def _other_key(host: Host, error: ssh_client.KeyNotConfirmed) -> str:
    """Return the new key of the host where its own key differs, and not that of a host on the way."""
    if error.alias == ssh_client.alias_of(host):
        try:
            return ssh_client.offered_key(ssh_client.hops_to(host))
        except HostUnreachable:
            logger.info("host %s did not show its other key", host.pk)
    return ""


def _programs(connection: HostConnection) -> dict[str, dict[str, str]]:
    """Return path and version of the installed programs by name, and the fault of one that does not work there."""
    printed = connection.script("programs.sh", *SHOWN, *NEEDED).stdout.decode(errors="replace")
    rows = [line.split("\t", 2) for line in printed.splitlines() if line.count("\t") >= 2]
    found = {name: {"path": path, "version": version} for name, path, version in rows}
    if (sandbox := found.get("bwrap")) and (fault := _sandbox_fault(connection)):
        sandbox["fault"] = fault
    return found


def _sandbox_fault(connection: HostConnection) -> str:
    try:
        tried = connection.run(SANDBOX_TRIAL)
    except HostRefused as error:  # it hangs, which says nothing about the rest of the host
        return str(error)
    if not tried.exit_code:
        return ""
    return tried.words or _("it ended with exit code %(code)s") % {"code": tried.exit_code}


@contextmanager
def _unique_name(name: str) -> Iterator[None]:
    """Raise `InvalidHost` where two registrations at once take the same name, as the database reports."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise InvalidHost({"name": [_name_taken_message(name)]}) from None


def _name_taken_message(name: str) -> str:
    return _("the name %(name)r is taken: choose another name") % {"name": name}


def _validated(host: Host, values: HostValues) -> dict[str, Any]:
    known = {name: value for name, value in values.items() if name in FIELDS}
    trimmed = {name: value.strip() if isinstance(value, str) else value for name, value in known.items()}
    fields = {name: getattr(host, name) for name in FIELDS} | trimmed
    InvalidHost.refuse((name, problem) for name, problem in _problems(host, fields) if problem)
    return fields


def _problems(host: Host, fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    name, address, port, user = (fields[one] for one in ("name", "address", "port", "user"))
    yield "name", identifiers.identifier_problem(name)
    yield "name", _name_taken_message(name) if Host.objects.exclude(pk=host.pk).filter(name=name).exists() else ""
    is_port = isinstance(port, int) and 1 <= port <= 65535
    yield "port", "" if is_port else _("%(port)r is not a port: enter a number from 1 to 65535") % {"port": port}
    if not ADDRESS.fullmatch(address):
        yield "address", _("%(address)r is not a host name or an address") % {"address": address}
    elif is_port:
        yield "address", addresses.refusal(address, port)
    if not USER.fullmatch(user):
        yield "user", _("%(user)r is not the name of an account: use letters, digits, and _ . -") % {"user": user}
    yield "jump", _jump_problem(host, fields["jump"])


def _jump_problem(host: Host, jump: Host | None) -> str:
    """Return why the way over another host would lead back, or is too long; empty where it is fine."""
    hops = 0
    while jump:
        hops += 1
        if jump.pk == host.pk:
            return _("%(host)s would be reached through itself: choose another host") % {"host": host}
        if hops > ssh_client.MOST_JUMPS:
            return _("the connection would pass through more than %(most)d hosts") % {"most": ssh_client.MOST_JUMPS}
        jump = jump.jump
    return ""
