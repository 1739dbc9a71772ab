"""The server refuses logins: the pooler can't open the connections that its clients wait for."""

from django.utils.translation import gettext as _

from pools.diagnosis.evidence import Evidence
from pools.diagnosis.finding import Finding


def find(evidence: Evidence) -> Finding | None:
    """Return a finding where connections are lacking, and the server refuses the login that would open one."""
    queue = evidence.queue
    is_held_up = queue.waiting or evidence.logged_error
    if not is_held_up or not queue.sees_servers or queue.exhausted or evidence.is_without_address:
        return None
    by_panel = evidence.login_error or (evidence.server_error if evidence.panel_is_refused else "")
    reason = evidence.logged_error or by_panel
    if reason:
        return _refused(evidence, reason)
    if queue.servers:
        return None
    return _without_connection(evidence)


def _without_connection(evidence: Evidence) -> Finding:
    """Return a finding that claims no more than what the panel itself has tried at the server."""
    remedy = _("The pooler's log has the reason: its password, its network or its TLS differ from the panel's.")
    if evidence.login_error is not None:
        sentence = _("The pooler has no connection to the server of pool %(pool)s, although its role can log in there.")
    elif evidence.sessions is not None:
        sentence = _(
            "The pooler has no connection to the server of pool %(pool)s, although the panel's role can log in there."
        )
    else:
        sentence = _("The pooler has no connection to the server of pool %(pool)s.")
        remedy = _("The pooler's log has the reason. Once its server is a cluster here, the panel tries that too.")
    return Finding(sentence % {"pool": evidence.queue.name}, remedy)


def _refused(evidence: Evidence, reason: str) -> Finding:
    if not evidence.names_sessions:
        reason = _("its message is shown to those who see its cluster")
    params = {"pool": evidence.queue.name, "open": len(evidence.queue.usable), "reason": reason}
    if evidence.queue.usable:
        sentence = _("The server refuses logins, so pool %(pool)s has %(open)s connections and no more: %(reason)s.")
    else:
        sentence = _("The server refuses logins, so pool %(pool)s has no connection: %(reason)s.")
    return Finding(sentence % params, _("Mend what the server says; the pooler tries again by itself."))
