"""Slow statements: the server connections run statements that take long."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pools.diagnosis.ages import written
from pools.diagnosis.evidence import Evidence
from pools.diagnosis.finding import Finding


def find(evidence: Evidence) -> Finding | None:
    """Return a finding where most of the held connections run a statement for long."""
    if not evidence.queue.is_held_up or not evidence.is_most(evidence.slow):
        return None
    longest = max(evidence.slow, key=lambda one: one.statement_s or 0.0)
    params = {"count": len(evidence.slow), "held": len(evidence.held)}
    return Finding(
        _text(evidence) % {**params, "who": evidence.name_of(longest.pid), "age": written(longest.statement_s)},
        _("Make it faster (EXPLAIN shows how it runs), give it a pool of its own, or cancel it."),
        tuple(one.pid for one in evidence.slow),
    )


def _text(evidence: Evidence) -> str:
    if evidence.queue.sees_servers:
        return ngettext(
            "Slow statement: %(count)s of %(held)s server connection in use runs a statement for more than a second; "
            "that of %(who)s for %(age)s.",
            "Slow statement: %(count)s of %(held)s server connections in use run a statement for more than a second; "
            "that of %(who)s for %(age)s.",
            len(evidence.held),
        )
    return ngettext(
        "Slow statement: %(count)s of %(held)s busy session in the database runs a statement for more than a second; "
        "that of %(who)s for %(age)s.",
        "Slow statement: %(count)s of %(held)s busy sessions in the database run a statement for more than a second; "
        "that of %(who)s for %(age)s.",
        len(evidence.held),
    )
