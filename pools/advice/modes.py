"""What each pool mode keeps, breaks and asks of the client, in one sentence each (PgBouncer's features table)."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from pools.models import Mode


@dataclass(frozen=True)
class ModeWords:
    """The sentences for the form (`summary`, `keeps`, `breaks`) and for the client (`asks`)."""

    summary: str | Promise
    keeps: str | Promise
    breaks: str | Promise
    asks: str | Promise


WORDS = {
    Mode.SESSION: ModeWords(
        _("A client holds a server connection until it disconnects."),
        _("Keeps everything PostgreSQL can do."),
        _("Saves only the cost of connecting: idle clients hold connections too, so the size caps the clients."),
        _("Disconnect when idle: a connected client holds one of the pool's server connections."),
    ),
    Mode.TRANSACTION: ModeWords(
        _("A client holds a server connection for one transaction at a time."),
        _("Keeps transactions, cursors inside them, SET LOCAL; many clients share few connections."),
        _(
            "Breaks what outlives a transaction: SET, LISTEN, advisory session locks, temporary tables, WITH HOLD "
            "cursors, and prepared statements on PgBouncer before 1.21."
        ),
        _("Keep state inside transactions: no session SET, LISTEN or temporary tables."),
    ),
    Mode.STATEMENT: ModeWords(
        _("A client holds a server connection for one statement at a time."),
        _("Keeps single statements with autocommit, at the highest sharing."),
        _("Breaks transactions of several statements (BEGIN is refused) and everything that transaction mode breaks."),
        _("Use autocommit: BEGIN is refused, each statement may run on another server connection."),
    ),
}


def of(mode: str) -> ModeWords:
    """Return a mode's sentences: its rule, what works, what it costs, and what clients have to do."""
    return WORDS[Mode(mode)]
