"""What PgBouncer's pools do now and have done since its start: SHOW POOLS, STATS, DATABASES and LISTS in one login."""

import time
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from weakref import WeakKeyDictionary

from pools.errors import ConsoleRefused
from pools.models import Pooler
from pools.poolers.console_sample import ConsoleSample, Counters, PoolFigures, ProcessFigures
from pools.poolers.pgbouncer import console, kept_consoles, process_search, process_sums, processes

Row = Mapping[str, object]
OWN = "pgbouncer"  # the console itself, which it lists among the databases
NAMED_BY = {"pools": "database", "stats": "database", "databases": "name"}
# What the whole process holds, and its limits, each as one row: SHOW LISTS, and of SHOW CONFIG what metrics name. They
# are no tables of SHOW, whose words name those that the page of the console shows.
WHOLE = ("counts", "limits")
LIMITS = frozenset({"max_client_conn", "max_user_connections"})
LIMITS_S = 60.0  # SHOW CONFIG has a hundred rows, which cost as much as all else and rarely change
GAUGES = ("cl_active", "cl_waiting", "sv_active", "sv_idle", "sv_used")
# PgBouncer's usage manual, SHOW STATS; columns are found by name, since later releases have more of them.
COUNTERS = {
    "queries": "total_query_count",
    "transactions": "total_xact_count",
    "received_bytes": "total_received",
    "sent_bytes": "total_sent",
    "query_us": "total_query_time",
    "transaction_us": "total_xact_time",
    "wait_us": "total_wait_time",
}


def sample(pooler: Pooler) -> ConsoleSample:
    """Poll the console of each process, without its own pool. Raises `PoolerUnreachable`."""
    if not pooler.shares_its_port:
        with kept_consoles.lent(pooler, _opened) as connection:
            return _sample(_shown(connection))
    with processes.known(pooler) as (found, missing):
        answers = [_shown(one.console) for one in found]
    rows = {word: process_sums.summed(word, [one[word] for one in answers]) for word in (*NAMED_BY, *WHOLE)}
    each = [
        process_sums.figures_of(one.name, one.pid, own["pools"]) for one, own in zip(found, answers, strict=True)
    ] + [ProcessFigures(name, error=why) for name, why in missing.items()]
    return _sample(rows, sorted(each, key=attrgetter("name")))


def _opened(pooler: Pooler) -> console.Console:
    """Open a console for a poll. Raises `PoolerUnreachable`.

    Once a check knows the pooler, only checks look whether a silent one has further processes at its port: to go
    through all processes of the host costs more than a poll.
    """
    return console.open(pooler) if pooler.server_version else process_search.any_of(pooler)


def _sample(shown: dict[str, list[dict[str, object]]], each: Sequence[ProcessFigures] = ()) -> ConsoleSample:
    counts, limits = ((shown[word] or [{}])[0] for word in WHOLE)
    return ConsoleSample(
        figures(shown["pools"]),
        counters(shown["stats"]),
        shown,
        list(each),
        clients=number(counts.get("used_clients")),
        most_clients=number(limits.get("max_client_conn")),
    )


def _shown(connection: console.Console) -> dict[str, list[dict[str, object]]]:
    rows = {word: console.rows(connection, word) for word in NAMED_BY}
    pools = {word: [row for row in rows[word] if row[key] != OWN] for word, key in NAMED_BY.items()}
    return pools | {"counts": _one_row(connection, "lists"), "limits": _limits(connection)}


_known_limits: WeakKeyDictionary[console.Console, tuple[float, list[dict[str, object]]]] = WeakKeyDictionary()


def _limits(connection: console.Console) -> list[dict[str, object]]:
    """Return the limits of SHOW CONFIG, at most a minute old."""
    asked_at, limits = _known_limits.get(connection, (-LIMITS_S, []))
    if time.monotonic() - asked_at >= LIMITS_S:
        limits = [{key: row[key] for key in LIMITS & row.keys()} for row in _one_row(connection, "config")]
        _known_limits[connection] = time.monotonic(), limits
    return limits


def _one_row(connection: console.Console, word: str) -> list[dict[str, object]]:
    """Return a SHOW of names and values as one row; none of a console that speaks PgBouncer's language without it."""
    try:
        table = console.table(connection, word)
    except ConsoleRefused:
        return []
    return [{str(values[0]): values[1] for values in table.rows}]


def figures(pools: Iterable[Row]) -> dict[str, PoolFigures]:
    """Sum the rows of SHOW POOLS by pool; the wait is the longest."""
    found: dict[str, PoolFigures] = {}
    for row in pools:
        name = str(row["database"])
        other = found.get(name, PoolFigures())
        sums = {column: getattr(other, column) + number(row.get(column)) for column in GAUGES}
        found[name] = PoolFigures(**sums, maxwait_ms=max(other.maxwait_ms, waited_ms(row)))
    return found


def counters(stats: Iterable[Row]) -> dict[str, Counters]:
    """Sum the rows of SHOW STATS by pool: PgBouncer has one for each, pgcat and Odyssey one for each of its users."""
    found: dict[str, Counters] = {}
    for row in stats:
        name = str(row["database"])
        other = found.get(name, Counters())
        found[name] = Counters(
            **{key: getattr(other, key) + number(row.get(column)) for key, column in COUNTERS.items()}
        )
    return found


def waited_ms(row: Row) -> int:
    """Return the milliseconds that the first client in a pool's queue has waited."""
    return number(row.get("maxwait")) * 1000 + number(row.get("maxwait_us")) // 1000


def number(value: object) -> int:
    """Parse a whole number of a console's cell; 0 where a release does not have it."""
    return int(str(value or 0))
