"""Registry of the causes for which clients wait: each of `NAMES` has a module here with a function `find`.

The order is that of the search: what keeps connections from being opened, what holds those that are open, what is
merely used up.
"""

from collections.abc import Callable
from importlib import import_module

from pools.diagnosis.evidence import Evidence
from pools.diagnosis.finding import Finding

NAMES = (
    "paused",
    "dns",
    "server_logins",
    "lock",
    "idle_in_transaction",
    "pooler_core",
    "slow_statement",
    "pool_size",
    "client_limit",
)
CAUSES: dict[str, Callable[[Evidence], Finding | None]] = {
    name: import_module(f"{__name__}.{name}").find for name in NAMES
}


def found_in(evidence: Evidence) -> list[tuple[str, Finding]]:
    """Return each cause that holds with its finding; the first one is what the clients wait for."""
    found = ((name, find(evidence)) for name, find in CAUSES.items())
    return [(name, finding) for name, finding in found if finding is not None]
