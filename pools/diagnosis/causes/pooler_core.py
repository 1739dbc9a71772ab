"""The pooler's core is full: PgBouncer runs on one core, and has no time for more."""

from django.utils.translation import gettext as _

from pools.diagnosis.evidence import Evidence
from pools.diagnosis.finding import Finding
from pools.poolers.pool_queue import CoreUse

FULL = 0.9
FULL_WHILE_SERVERS_WAIT = 0.5  # The server's sessions wait for the pooler to read, as often as it is not ready itself.
STARVED_WHILE_SERVERS_WAIT = 0.3  # They get no processor either, so that they seldom have something for it to read.
STARVED = 3  # It waits for a processor this many times as long as it runs.
WRITES = "ClientWrite"


def find(evidence: Evidence) -> Finding | None:
    """Return a finding where the process wants nearly a whole core, and nothing holds its connections for long."""
    core = evidence.queue.core
    if core is None or core.wanted < _full(evidence, core):
        return None
    params = {"running": f"{core.running:.0%}", "waiting": f"{core.waiting:.0%}"}
    if core.waiting > core.running:
        return Finding(
            _(
                "The pooler gets too little of its core: its process runs %(running)s of the time, and waits "
                "for a processor for %(waiting)s."
            )
            % params,
            _("Give the pooler a core of its own, or move what else runs on its host."),
        )
    return Finding(
        _(
            "The pooler's core is full: its process runs %(running)s of the time and waits for a processor for "
            "%(waiting)s, and it can use only one core."
        )
        % params,
        _("Run further processes of it on the same port (so_reuseport), or let clients log in less often."),
    )


def _full(evidence: Evidence, core: CoreUse) -> float:
    """Return the share that it has to want: less where half of the sessions in use wait for it to read."""
    writing = sum(one.wait_event == WRITES for one in evidence.held)
    if not writing or 2 * writing < len(evidence.held):
        return FULL
    return STARVED_WHILE_SERVERS_WAIT if core.waiting > STARVED * core.running else FULL_WHILE_SERVERS_WAIT
