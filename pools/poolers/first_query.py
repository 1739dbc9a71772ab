"""A client's first query through a pool: the proof that it serves clients, given up at a deadline.

libpq alone would wait for as long as the pooler keeps the query waiting.
"""

import select
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg
from django.utils.translation import gettext as _
from psycopg.pq import ExecStatus

Session = psycopg.Connection[Any]
WITHIN_S = 5
ANY = "SELECT 1"


def run(log_in: Callable[[], Session], query: str = ANY) -> int:
    """Log in and run a query; return the number of its rows. Raises `psycopg.Error`, also at the deadline."""
    with closing(log_in()) as session:  # psycopg's own `with` would commit, which waits behind an unanswered query
        session.pgconn.send_query(query.encode())
        if not is_answered(session, WITHIN_S):
            raise psycopg.OperationalError(_("its first query got no answer in %(seconds)s s") % {"seconds": WITHIN_S})
        return row_count(session)


def is_answered(session: Session, within_s: float) -> bool:
    """Return whether the query that was sent is answered within that time; its result waits to be read."""
    deadline = time.monotonic() + within_s
    while session.pgconn.is_busy():
        if not select.select([session.pgconn.socket], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return False
        session.pgconn.consume_input()
    return True


def row_count(session: Session) -> int:
    """Read the answer that waits, and return the number of its rows; raises `psycopg.Error` for an error."""
    result = session.pgconn.get_result()
    if result is None or result.status != ExecStatus.TUPLES_OK:
        raise psycopg.OperationalError(result.error_message.decode(errors="replace") if result else _("no answer"))
    return result.ntuples
