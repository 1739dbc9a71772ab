"""DNS: the pooler finds no address for its server's name."""

from django.utils.translation import gettext as _

from pools.diagnosis.evidence import Evidence
from pools.diagnosis.finding import Finding


def find(evidence: Evidence) -> Finding | None:
    """Return a finding where SHOW DNS_HOSTS has no address of a host that the pool leads to."""
    queue = evidence.queue
    if not evidence.is_without_address:
        return None
    params = {"pool": queue.name, "hosts": ", ".join(queue.unresolved)}
    return Finding(
        _("DNS: the pooler finds no address for %(hosts)s, so it can't reach the server of pool %(pool)s.") % params,
        _("Correct the host's name in the pool's cluster, or the name's record in DNS; RECONNECT then asks again."),
    )
