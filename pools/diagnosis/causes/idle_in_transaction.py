"""Idle in transaction: clients keep their server connections in transactions in which they run nothing."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pools.diagnosis.ages import written
from pools.diagnosis.evidence import Evidence
from pools.diagnosis.finding import Finding
from pools.diagnosis.sessions import in_order


def find(evidence: Evidence) -> Finding | None:
    """Return a finding where most of the held connections are idle in transaction for long."""
    if not evidence.queue.is_held_up or not evidence.is_most(evidence.left_open):
        return None
    oldest = in_order(evidence.left_open)[0]
    # The first one is PgBouncer's, the other PostgreSQL's.
    setting = "idle_transaction_timeout" if evidence.queue.counts_waiting else "idle_in_transaction_session_timeout"
    params = {"count": len(evidence.left_open), "held": len(evidence.held)}
    return Finding(
        _text(evidence) % {**params, "who": evidence.name_of(oldest.pid), "age": written(oldest.transaction_s)},
        _("Let the application commit before it waits for anything else, or set %(setting)s.") % {"setting": setting},
        tuple(one.pid for one in in_order(evidence.left_open)),
    )


def _text(evidence: Evidence) -> str:
    if evidence.queue.sees_servers:
        return ngettext(
            "Idle in transaction: %(count)s of %(held)s server connection in use has an open transaction in which "
            "nothing runs; %(who)s keeps it for %(age)s.",
            "Idle in transaction: %(count)s of %(held)s server connections in use have open transactions in which "
            "nothing runs; %(who)s keeps the oldest for %(age)s.",
            len(evidence.held),
        )
    return ngettext(
        "Idle in transaction: %(count)s of %(held)s busy session in the database has an open transaction in which "
        "nothing runs; %(who)s keeps it for %(age)s.",
        "Idle in transaction: %(count)s of %(held)s busy sessions in the database have open transactions in which "
        "nothing runs; %(who)s keeps the oldest for %(age)s.",
        len(evidence.held),
    )
