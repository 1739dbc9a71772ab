"""Asks a pooler and its server, live, why the clients of a pool wait."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypedDict

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.lib.addresses import is_local
from pools.clusters import connect, topology
from pools.clusters.topology import Place
from pools.diagnosis import blocking_tree, causes, log_reasons
from pools.diagnosis import sessions as server_sessions
from pools.diagnosis.blocking_tree import Branch
from pools.diagnosis.evidence import Evidence
from pools.diagnosis.finding import Finding
from pools.diagnosis.sessions import ServerSessions, Session
from pools.errors import ClusterUnreachable, HostUnreachable, NotLive, PoolerUnreachable
from pools.models import Cluster, Entry, NodeRole, Pool, Pooler
from pools.poolers import KINDS
from pools.poolers.pool_queue import PoolQueue, ServerConnection
from pools.poolers.pooler_log import LogUnreadable

Target = Pool | Entry


class _Findings(TypedDict):
    """The cause of a diagnosis, and the further ones."""

    cause: str
    finding: Finding
    also: tuple[tuple[str, Finding], ...]


@dataclass(frozen=True)
class Holder:
    """A server connection of the pool, and the session that it is on the server, where that is known."""

    server: ServerConnection
    session: Session | None


@dataclass(frozen=True)
class Diagnosis:
    """Why the clients of one pool wait, as it was at a moment; reading it took `took_s` seconds.

    `cause` is one of `causes.NAMES`, and empty where none was found. `also` are further causes that hold. `notes` say
    what could not be asked, `server_notes` those of them that tell of the server. `place` is the server, where its
    cluster is registered.
    """

    pool: str
    taken_at: datetime
    cause: str
    finding: Finding
    also: tuple[tuple[str, Finding], ...] = ()
    notes: tuple[str, ...] = ()
    queue: PoolQueue | None = None
    holders: tuple[Holder, ...] = ()
    tree: list[Branch] = field(default_factory=list)
    took_s: float = 0.0
    place: Place | None = None
    evidence: Evidence | None = None
    server_notes: tuple[str, ...] = ()

    def without_sessions(self) -> "Diagnosis":
        """Return it for those who see the pooler and not the cluster, whose sessions are none of theirs."""
        notes = [note for note in self.notes if note not in self.server_notes]
        hidden = replace(
            self,
            holders=tuple(replace(holder, session=None) for holder in self.holders),
            tree=[],
            notes=(*notes, _("The sessions of the server are shown to those who see its cluster.")),
            place=None,
            evidence=None,
            server_notes=(),
        )
        return replace(hidden, **_found(replace(self.evidence, names_sessions=False))) if self.evidence else hidden

    @property
    def to_end(self) -> list[Session]:
        """The sessions whose end would help."""
        found = [holder.session for holder in self.holders] + [branch.session for branch in self.tree]
        by_pid = {one.pid: one for one in found if one}
        return [by_pid[pid] for pid in self.finding.pids if pid in by_pid]


def of(target: Target) -> Diagnosis:
    """Ask why the clients of a pool or an entry wait; what can't be asked is told in the notes."""
    began, taken_at = time.monotonic(), timezone.now()
    try:
        queue = KINDS[target.pooler.kind].queue(target.pooler, target.name)
    except (PoolerUnreachable, NotLive) as error:
        return Diagnosis(target.name, taken_at, "", _unread(str(error)), took_s=time.monotonic() - began)
    place = place_of(target, queue)
    evidence = _evidence(target, queue, place)
    return Diagnosis(
        pool=target.name,
        taken_at=taken_at,
        **_found(evidence),
        notes=tuple(_notes(target, evidence)),
        queue=queue,
        holders=_holders(evidence),
        tree=_tree(evidence),
        took_s=time.monotonic() - began,
        place=place,
        evidence=evidence,
        server_notes=tuple(_server_notes(evidence)),
    )


def _found(evidence: Evidence) -> _Findings:
    first, *also = causes.found_in(evidence) or [("", _none_found(evidence))]
    if not evidence.names_sessions:
        first, *also = [(name, replace(finding, pids=())) for name, finding in (first, *also)]
    return {"cause": first[0], "finding": first[1], "also": tuple(also)}


def _evidence(target: Target, queue: PoolQueue, place: Place | None) -> Evidence:
    logged_error = _logged_error(target, queue)
    if place is None:
        return Evidence(queue, logged_error=logged_error)
    servers = (*queue.servers, *queue.elsewhere)
    at_others = frozenset(one for one in servers if not _leads_to(place, target.pooler, one))
    pids = [one.pid for one in queue.servers if one.pid and one not in at_others]
    sessions: ServerSessions | None = None
    server_error, is_refused = "", False
    try:
        sessions = server_sessions.read(place, pids, target.database, whole=not queue.sees_servers)
    except ClusterUnreachable as error:
        server_error, is_refused = str(error), not isinstance(error, server_sessions.QueryFailed)
    login_error = _login_error(target, queue, place) if sessions else None
    found = Evidence(queue, sessions, server_error, login_error, logged_error, is_refused)
    return replace(found, database=target.database, at_others=at_others)


def _leads_to(place: Place, pooler: Pooler, connection: ServerConnection) -> bool:
    """Return whether a connection leads to a server, by the addresses that the pooler and the panel have of it."""
    if connection.server is None:
        return True
    host, port = connection.server
    if is_local(host) and not is_local(pooler.host):
        host = pooler.host
    own, own_port = place.address
    is_same = bool(host) and host in (own, place.found.ip_address)
    return port == own_port and (is_same or (is_local(host) and is_local(own)))


def place_of(target: Target, queue: PoolQueue) -> Place | None:
    """Return the server that the pool leads to: the one at the address that the pooler shows, else its primary."""
    cluster: Cluster | None = target.cluster
    if cluster is None:
        return None
    places = topology.of_cluster(cluster)
    shown = (queue.server_host, queue.server_port)
    at_address = next((place for place in places if place.address == shown), None)
    wants_standby = isinstance(target, Pool) and target.target == NodeRole.STANDBY
    standbys = topology.standbys(cluster) if wants_standby else []
    return at_address or next(iter(standbys), None) or topology.primary(cluster)


def _login_error(target: Target, queue: PoolQueue, place: Place) -> str | None:
    """Log in as the pool's role where its pooler lacks connections that it may open; return why that failed."""
    if not isinstance(target, Pool) or not queue.waiting or queue.reached_server_limit or queue.paused:
        return None
    role = target.login
    if not queue.sees_servers or not role or target.cluster.password_of(role) is None:
        return None
    try:
        connect.connect(
            target.cluster,
            at=place.address,
            database=target.database,
            user=role,
            connect_timeout=server_sessions.CONNECT_TIMEOUT_S,
        ).close()
    except ClusterUnreachable as error:
        return str(error)
    return ""


def _logged_error(target: Target, queue: PoolQueue) -> str:
    """Return why the server lately refused the login of the pooler, which has no connection; empty if unknown.

    Clients whose own login needs that connection are refused with it, and don't wait.
    """
    if not queue.sees_servers or queue.exhausted or queue.usable or queue.paused:
        return ""
    try:
        refusal = log_reasons.last_server_refusal(log_reasons.read(target.pooler).lines, target.name)
    except (LogUnreadable, HostUnreachable):
        return ""
    if refusal is None:
        return ""
    return _("%(reason)s (its log at %(at)s)") % {"reason": refusal.detail, "at": refusal.at}


def _tree(evidence: Evidence) -> list[Branch]:
    if evidence.sessions is None:
        return []
    servers = (*evidence.queue.servers, *evidence.queue.elsewhere)
    pools = {one.pid: one.pool for one in servers if evidence.session_of(one)}
    return blocking_tree.of_sessions(evidence.sessions, pools)


def _holders(evidence: Evidence) -> tuple[Holder, ...]:
    holders = [Holder(one, evidence.session_of(one)) for one in evidence.queue.servers]
    return tuple(sorted(holders, key=_precedence))


def _precedence(holder: Holder) -> tuple[bool, float, int]:
    age = holder.session.transaction_s if holder.session else None
    return not holder.server.is_busy, -(age or 0.0), holder.server.pid


def _unread(reason: str) -> Finding:
    return Finding(
        _("The pooler's console can't be asked, so nothing is known of the queue: %(reason)s.") % {"reason": reason},
        _("Check the pooler."),
    )


def _none_found(evidence: Evidence) -> Finding:
    queue = evidence.queue
    if not queue.is_held_up:
        return Finding(_nobody_waits(queue), "")
    if evidence.is_most(evidence.hidden):
        return Finding(
            _("All server connections in use are hidden from the panel's role, so that what they do is unknown."),
            _("Grant pg_monitor to the panel's role."),
        )
    return Finding(
        _("Clients wait (%(waiting)s now), and none of the causes that the panel knows holds.")
        % {"waiting": queue.waiting},
        _("Look again: a queue that passes within a moment has no lasting cause."),
    )


def _nobody_waits(queue: PoolQueue) -> str:
    params: dict[str, object] = {"pool": queue.name}
    if queue.counts_waiting:
        return _("No client waits for a connection of pool %(pool)s now.") % params
    limit = next((limit for limit in queue.client_limits if limit.most), None)
    if limit is None:
        return _("Whether clients of pool %(pool)s wait is not known: its pooler does not count them.") % params
    params |= {"used": limit.used, "most": limit.most, "setting": limit.setting}
    return _("No client waits for pool %(pool)s now: %(used)s are connected of the %(most)s of %(setting)s.") % params


def _notes(target: Target, evidence: Evidence) -> list[str]:
    notes = [evidence.queue.core_unknown, *_server_notes(evidence)]
    if target.cluster is None:
        notes.append(_("The server behind this entry is not registered, so its sessions can't be asked."))
    if not evidence.queue.sees_servers:
        text = _("%(kind)s does not say which client has which connection: all sessions in the database are shown.")
        notes.append(text % {"kind": target.pooler.get_kind_display()})
    return [note for note in notes if note]


def _server_notes(evidence: Evidence) -> Iterator[str]:
    if evidence.server_error:
        yield evidence.server_error
    if others := [one for one in evidence.queue.servers if one in evidence.at_others]:
        yield _not_asked(others)
    if evidence.sessions and not evidence.sessions.sees_all:
        text = _("Sessions of other roles are hidden from %(role)s: GRANT pg_monitor TO %(role)s.")
        yield text % {"role": evidence.sessions.role}


def _not_asked(others: Sequence[ServerConnection]) -> str:
    """Return the sentence on the connections that lead to other servers than the one that was asked."""
    named = sorted({topology.written(one.server) for one in others if one.server and one.server[0]})
    text = ngettext(
        "%(count)s connection of the pool leads to another server than the one that was asked (%(servers)s): what runs "
        "there is not known.",
        "%(count)s connections of the pool lead to other servers than the one that was asked (%(servers)s): what runs "
        "there is not known.",
        len(others),
    )
    return text % {"count": len(others), "servers": ", ".join(named) or _("the pooler does not name them")}
