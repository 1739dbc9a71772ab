"""Round trip between generator and endpoint, measured before the load: a lower bound of any latency."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import mean

import psycopg

from benchmarks.engines.base import RunContext
from benchmarks.models.conditions import Ping
from pools.clusters import connect, session_deadline
from pools.clusters.endpoints import Endpoint
from pools.errors import PoolsError

log = logging.getLogger(__name__)

COUNT = 10
ANSWER_WITHIN_S = 5


@contextmanager
def pinged(context: RunContext) -> Iterator[None]:
    """Note `ping`; a run whose endpoint does not answer goes on, and its program prints why it can't log in."""
    if not context.is_here:  # it would be the round trip of another machine
        yield
        return
    try:
        context.note({"ping": round_trips(context.endpoint)})
    except (PoolsError, psycopg.Error) as error:
        log.warning("run %s: %s can't be pinged: %s", context.run.pk, context.endpoint.address, error)
    yield


def round_trips(endpoint: Endpoint) -> Ping:
    """Return `connect_ms`, and `min_ms avg_ms max_ms` of `count` times SELECT 1 over that one connection.

    Raises `ClusterUnreachable` and psycopg's errors.
    """
    began = time.perf_counter()
    with (
        connect.connect_endpoint(
            endpoint, application_name="pooldeck-ping", connect_timeout=ANSWER_WITHIN_S
        ) as connection,
        session_deadline.within(
            connection, ANSWER_WITHIN_S
        ),  # a pool that others have filled lets one wait for minutes
    ):
        connect_ms = _ms_since(began)
        connection.prepare_threshold = None  # behind a transaction pool the next transaction may be another server's
        took = [_round_trip_ms(connection) for _ in range(COUNT + 1)][1:]  # the first may wait for a server of the pool
    return {
        "count": COUNT,
        "min_ms": round(min(took), 3),
        "avg_ms": round(mean(took), 3),
        "max_ms": round(max(took), 3),
        "connect_ms": round(connect_ms, 3),
    }


def _round_trip_ms(connection: connect.Connection) -> float:
    began = time.perf_counter()
    connection.execute("SELECT 1")
    return _ms_since(began)


def _ms_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
