"""PAUSE: the pooler holds its clients back because somebody told it to."""

from django.utils.translation import gettext as _

from pools.diagnosis.evidence import Evidence
from pools.diagnosis.finding import Finding


def find(evidence: Evidence) -> Finding | None:
    """Return a finding where the pool is paused."""
    if not (evidence.queue.paused and evidence.queue.waiting):
        return None
    return Finding(
        _("Pool %(pool)s is paused, so its clients wait until it is resumed.") % {"pool": evidence.queue.name},
        _("Resume it, unless somebody still needs the pause."),
    )
