"""Locks: the server connections wait for a lock that another transaction holds."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pools.diagnosis.ages import written
from pools.diagnosis.evidence import Evidence
from pools.diagnosis.finding import Finding
from pools.diagnosis.sessions import PREPARED, Session


def find(evidence: Evidence) -> Finding | None:
    """Return a finding where most of the held connections wait for locks, or hold those that others wait for."""
    waiting = [one for one in evidence.held if one.blocked_by]
    if not evidence.queue.is_held_up or not evidence.is_most(evidence.locked) or evidence.sessions is None:
        return None
    blockers = list(dict.fromkeys(pid for one in waiting for pid in evidence.sessions.blockers_of(one)))
    blocker = evidence.sessions.by_pid.get(blockers[0])
    params = {"count": len(waiting), "pool": evidence.queue.name, "blocker": _name(blockers[0], evidence)}
    sentences = [_text(evidence, len(waiting)) % params, *_transaction(blocker)]
    return Finding(" ".join(sentences), _remedy(blockers), tuple(pid for pid in blockers if pid != PREPARED))


def _text(evidence: Evidence, count: int) -> str:
    if evidence.queue.sees_servers:
        return ngettext(
            "Lock: %(count)s server connection of pool %(pool)s waits for %(blocker)s.",
            "Lock: %(count)s server connections of pool %(pool)s wait for %(blocker)s.",
            count,
        )
    return ngettext(
        "Lock: %(count)s session in the database of pool %(pool)s waits for %(blocker)s.",
        "Lock: %(count)s sessions in the database of pool %(pool)s wait for %(blocker)s.",
        count,
    )


def _name(pid: int, evidence: Evidence) -> str:
    return _("a prepared transaction") if pid == PREPARED else evidence.name_of(pid)


def _transaction(session: Session | None) -> Iterator[str]:
    """Yield a sentence about the transaction that holds the lock, where it can be seen."""
    if session is None or session.transaction_s is None:
        return
    if session.is_in_transaction:
        text = _("Its transaction has been open for %(age)s, and nothing runs in it now.")
    else:
        text = _("Its transaction has been open for %(age)s.")
    yield text % {"age": written(session.transaction_s)}


def _remedy(blockers: list[int]) -> str:
    if PREPARED in blockers:
        return _("Find it in pg_prepared_xacts, and end it by COMMIT PREPARED or ROLLBACK PREPARED.")
    return _("Let the holder of the lock commit or roll back, or terminate its session.")
