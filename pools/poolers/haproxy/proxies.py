"""The proxies of an HAProxy that others configure, from SHOW STAT: figures and entries by the name of the proxy."""

from collections.abc import Mapping, Sequence

from pools.models import Mode
from pools.poolers.console_sample import ConsoleSample, Counters, FoundEntry, PoolFigures
from pools.poolers.pool_queue import Limit, PoolQueue

Row = Mapping[str, object]
FRONT, BACK = "FRONTEND", "BACKEND"


def is_front(row: Row) -> bool:
    """Return whether a row is the clients' side of a TCP proxy; the stats page itself is an HTTP one."""
    return row.get("svname") == FRONT and row.get("mode") in ("tcp", None)


def entry(row: Row) -> FoundEntry:
    """Describe a proxy; it leads to whatever database its clients name."""
    limit = number(row, "slim")
    return FoundEntry(
        name=str(row["pxname"]),
        mode=Mode.SESSION.value,
        size=limit,
        max_connections=limit,
        connections=number(row, "scur"),
        disabled=row.get("status") in ("STOP", "PAUSED"),
    )


def front_of(rows: Sequence[Row], name: str) -> Row:
    """Return the row of a proxy's clients; empty where there is none."""
    return next((row for row in rows if (row["pxname"], row["svname"]) == (name, FRONT)), {})


def back_of(rows: Sequence[Row], name: str) -> Row:
    """Return the row of a backend as a whole; empty where there is none."""
    return next((row for row in rows if (row["pxname"], row["svname"]) == (name, BACK)), {})


def sample(rows: Sequence[dict[str, object]], shown: Sequence[dict[str, object]] = ()) -> ConsoleSample:
    """Return the figures of each TCP proxy; the queue is that of the backend of its name. `shown`: all rows."""
    backs = {str(row["pxname"]): row for row in rows if row.get("svname") == BACK}
    figures, counters = {}, {}
    for front in filter(is_front, rows):
        name = str(front["pxname"])
        figures[name], counters[name] = _figures(front, backs.get(name, {})), _counters(front)
    return ConsoleSample(figures, counters, {"stat": list(shown or rows)})


def of_proxy(name: str, front: Row, back: Row, others: ConsoleSample) -> ConsoleSample:
    """Return the figures of one proxy as those of the pool `name`, beside those of the others."""
    figures, counters = {**others.figures, name: _figures(front, back)}, {**others.counters, name: _counters(front)}
    return ConsoleSample(figures, counters, others.rows)


def queue(rows: Sequence[Row], name: str, front: str, back: str) -> PoolQueue:
    """Return the queue of a pool: that of its backend.

    Clients beyond the frontend's limit are counted nowhere, and which client has which session is not told.
    """
    clients = front_of(rows, front)
    servers = [row for row in rows if row["pxname"] == back and row["svname"] not in (FRONT, BACK)]
    limits = [number(row, "slim") for row in servers]
    of_servers = Limit("server maxconn", sum(limits) if all(limits) else 0, sum(number(row, "scur") for row in servers))
    of_clients = Limit("maxconn", number(clients, "slim"), number(clients, "scur"), further_wait=True)
    return PoolQueue(
        name,
        waiting=number(back_of(rows, back), "qcur"),
        mode=Mode.SESSION,
        server_limits=(of_servers,),
        client_limits=(of_clients,),
        sees_servers=False,
        counts_waiting=False,
    )


def number(row: Row, name: str) -> int:
    """Parse a whole number of a cell; 0 for an empty one."""
    text = str(row.get(name) or "")
    return int(text) if text.isdigit() else 0


def _figures(front: Row, back: Row) -> PoolFigures:
    return PoolFigures(cl_active=number(front, "scur"), cl_waiting=number(back, "qcur"), sv_active=number(back, "scur"))


def _counters(front: Row) -> Counters:
    return Counters(received_bytes=number(front, "bin"), sent_bytes=number(front, "bout"))
