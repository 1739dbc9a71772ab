"""Idle in transaction: clients keep their server connections in transactions in which they run nothing."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pools.diagnosis.ages import written
from pools.diagnosis.evidence import Evidence
from pools.diagnosis.finding import Finding
from pools.diagnosis.sessions import in_order


def find(evidence: Evidence) -> Finding | None:
    """Return a finding where most of the held connections are idle in transaction for long."""
    if not evidence.queue.waiting or not evidence.is_most(evidence.left_open):
        return None
    oldest = in_order(evidence.left_open)[0]
    text = ngettext(
        "Idle in transaction: %(count)s of %(held)s server connection in use has an open transaction in which nothing "
        "runs; %(who)s keeps it for %(age)s.",
        "Idle in transaction: %(count)s of %(held)s server connections in use have open transactions in which nothing "
        "runs; %(who)s keeps the oldest for %(age)s.",
        len(evidence.held),
    )
    params = {"count": len(evidence.left_open), "held": len(evidence.held)}
    return Finding(
        text % {**params, "who": oldest.description, "age": written(oldest.transaction_s)},
        _("Let the application commit before it waits for anything else, or set idle_transaction_timeout."),
        tuple(one.pid for one in in_order(evidence.left_open)),
    )
