"""What each pool mode keeps, breaks and asks of the client, in one sentence each (PgBouncer's features table)."""

from dataclasses import dataclass

from pools.models import Mode


@dataclass(frozen=True)
class ModeWords:
    """The sentences for the form (`summary`, `keeps`, `breaks`) and for the client (`asks`)."""

    summary: str
    keeps: str
    breaks: str
    asks: str


WORDS = {
    Mode.SESSION: ModeWords(
        "A client holds a server connection until it disconnects.",
        "Keeps everything PostgreSQL can do.",
        "Saves only the cost of connecting: idle clients hold connections too, so the size caps the clients.",
        "Disconnect when idle: a connected client holds one of the pool's server connections.",
    ),
    Mode.TRANSACTION: ModeWords(
        "A client holds a server connection for one transaction at a time.",
        "Keeps transactions, cursors inside them, SET LOCAL; many clients share few connections.",
        "Breaks what outlives a transaction: SET, LISTEN, advisory session locks, temporary tables, WITH HOLD "
        "cursors, and prepared statements on PgBouncer before 1.21.",
        "Keep state inside transactions: no session SET, LISTEN or temporary tables.",
    ),
    Mode.STATEMENT: ModeWords(
        "A client holds a server connection for one statement at a time.",
        "Keeps single statements with autocommit, at the highest sharing.",
        "Breaks transactions of several statements (BEGIN is refused) and all that transaction mode breaks.",
        "Use autocommit: BEGIN is refused, each statement may run on another server connection.",
    ),
}


def of(mode: str) -> ModeWords:
    """The sentences of a mode."""
    return WORDS[Mode(mode)]
