"""The pool is too small for the load: all its connections work, and none of them for long."""

from django.utils.translation import gettext as _

from pools.diagnosis.evidence import Evidence
from pools.diagnosis.finding import Finding
from pools.models import Mode
from pools.poolers.pool_queue import Limit, PoolQueue


def find(evidence: Evidence) -> Finding | None:
    """Return a finding where a limit of server connections is reached, and what holds them is no cause of its own."""
    queue, limit = evidence.queue, evidence.queue.exhausted
    if not queue.is_held_up or limit is None:
        return None
    if evidence.is_most(evidence.idle):
        return _kept_idle(evidence, limit)
    if not queue.sees_servers and evidence.unseen > len(evidence.held):
        return _mostly_idle(evidence, limit)
    if not evidence.is_most(evidence.quick):
        return None
    return Finding(_sentence(queue, limit), _remedy(evidence, limit))


def _sentence(queue: PoolQueue, limit: Limit) -> str:
    params = {"pool": queue.name, "most": limit.most, "setting": limit.setting, "waiting": queue.waiting}
    if not queue.waiting:
        text = _(
            "The pool is too small for the load: all %(most)s clients that %(setting)s lets in are connected, each "
            "works for less than a second, and further ones wait for one of them to leave."
        )
        return text % params
    return (
        _(
            "The pool is too small for the load: all %(most)s connections that %(setting)s gives pool %(pool)s are in "
            "use, each for less than a second, while clients wait (%(waiting)s now)."
        )
        % params
    )


def _remedy(evidence: Evidence, limit: Limit) -> str:
    sessions = evidence.sessions
    if sessions is None or not sessions.most:
        return _("Raise %(setting)s, as far as the server has connections left.") % {"setting": limit.setting}
    params = {"setting": limit.setting, "left": max(0, sessions.most - sessions.connections)}
    if not params["left"]:
        return _("Raise %(setting)s once the server has connections left: it has none now.") % params
    return _("Raise %(setting)s: the server has %(left)s connections left now.") % params


def _kept_idle(evidence: Evidence, limit: Limit) -> Finding:
    params = {"count": len(evidence.idle), "held": len(evidence.held), "mode": evidence.queue.mode}
    remedy = _("Let clients leave when they are done, or raise %(setting)s.")
    if evidence.queue.mode == Mode.SESSION and evidence.queue.counts_waiting:  # Only a PgBouncer has other modes.
        remedy = _("Use transaction mode, if the clients allow it, or raise %(setting)s.")
    return Finding(
        _(
            "The pool is too small for the load: clients keep %(count)s of its %(held)s connections without running "
            "anything, in %(mode)s mode."
        )
        % params,
        remedy % {"setting": limit.setting},
        tuple(one.pid for one in evidence.idle),
    )


def _mostly_idle(evidence: Evidence, limit: Limit) -> Finding | None:
    """Return a finding where clients whose sessions can't be told apart outnumber the sessions that do something."""
    if evidence.sessions is None or not evidence.sessions.sees_all:
        return None
    params = {"used": limit.used, "most": limit.most, "setting": limit.setting, "busy": len(evidence.held)}
    return Finding(
        _(
            "The pool is too small for the load: %(used)s clients are connected of the %(most)s of %(setting)s, while "
            "only %(busy)s sessions in the database do something."
        )
        % params,
        _("Let clients leave when they are done, or raise %(setting)s.") % params,
    )
