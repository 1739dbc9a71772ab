"""max_client_conn is reached: the pooler lets no further client in."""

from django.utils.translation import gettext as _

from pools.diagnosis.evidence import Evidence
from pools.diagnosis.finding import Finding


def find(evidence: Evidence) -> Finding | None:
    """Return a finding where the pooler, or the database on it, has as many clients as it may have."""
    limit = evidence.queue.reached_client_limit
    if limit is None:
        return None
    params = {"setting": limit.setting, "used": limit.used, "most": limit.most}
    if limit.further_wait:
        text = _(
            "%(setting)s is reached: %(used)s clients are connected of %(most)s, and further ones wait until one "
            "leaves."
        )
    else:
        text = _("%(setting)s is reached: %(used)s clients are connected of %(most)s, and further ones are refused.")
    return Finding(
        text % params,
        _("Close clients that nobody uses, or raise %(setting)s.") % params,
    )
