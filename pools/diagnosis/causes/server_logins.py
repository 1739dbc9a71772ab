"""The server refuses logins: the pooler can't open the connections that its clients wait for."""

from django.utils.translation import gettext as _

from pools.diagnosis.evidence import Evidence
from pools.diagnosis.finding import Finding


def find(evidence: Evidence) -> Finding | None:
    """Return a finding where connections are lacking, and the server refuses the login that would open one."""
    queue = evidence.queue
    if not queue.waiting or not queue.sees_servers or queue.reached_server_limit:
        return None
    reason = evidence.login_error or evidence.server_error
    if reason:
        return _refused(evidence, reason)
    if queue.servers:
        return None
    return Finding(
        _("The pooler has no connection to the server of pool %(pool)s, although the panel can log in there.")
        % {"pool": queue.name},
        _("The pooler's log has the reason: its password, its network or its TLS differ from the panel's."),
    )


def _refused(evidence: Evidence, reason: str) -> Finding:
    params = {"pool": evidence.queue.name, "open": len(evidence.queue.usable), "reason": reason}
    if evidence.queue.usable:
        sentence = _("The server refuses logins, so pool %(pool)s has %(open)s connections and no more: %(reason)s.")
    else:
        sentence = _("The server refuses logins, so pool %(pool)s has no connection: %(reason)s.")
    return Finding(sentence % params, _("Mend what the server says; the pooler tries again by itself."))
