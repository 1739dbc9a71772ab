"""The messages of PgBouncer's log, from what the panel knows of them."""

from pools.poolers.pgbouncer.log_messages import KNOWN
from pools.poolers.pooler_log import KnownMessage
from reference.tables import code, plain, table


def messages() -> str:
    """Return a table of the known messages, with the setting that mends each."""
    return table(("Reason", "About", "What it means", "Setting"), (_row(known) for known in KNOWN))


def _row(known: KnownMessage) -> tuple[str, ...]:
    setting = code(known.setting) if known.setting else ""
    return (code(known.reason), known.about.value, plain(str(known.meaning)), setting)
