"""Idle connections beside a load: opened before it, held through it, closed after it whatever happens."""

import logging
import resource
import select
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from django.utils.translation import ngettext
from psycopg import sql
from psycopg.rows import dict_row

from benchmarks.errors import Refused
from benchmarks.models.conditions import Idle
from benchmarks.runs.setup.background import run_in_thread
from benchmarks.runs.setup.base import SetupContext
from benchmarks.runs.setup.options import CLUSTER, NOTHING
from pools.clusters import activity, connect, endpoints, process_memory
from pools.clusters.endpoints import Endpoint
from pools.clusters.memory_budget import MB
from pools.clusters.process_memory import ProcessMemory
from pools.errors import ClusterUnreachable, PoolsError

Connection = psycopg.Connection[tuple[Any, ...]]
AT_ONCE = 8  # are opened side by side: logging in is the server's work, and more would only queue there
CONNECT_WITHIN_S = 30
FILES_TO_SPARE = 200  # other files that this worker may have open


class IdleConnections:
    """The idle connections of one run."""

    def __init__(self, endpoint: Endpoint, count: int, name: str, *, reads: bool = True) -> None:
        self.count, self.name, self.reads = count, name, reads
        self.connections: list[Connection] = []
        self._endpoint = endpoint
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Open no more of them."""
        self._stopped.set()

    def open_all(self) -> None:
        """Open them, let each read the catalog if asked to; raise `Refused` with the first failure and their number."""
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="idle") as openers:
            try:
                for done in [openers.submit(self._open_one) for _nth in range(self.count)]:
                    done.result()
            except (ClusterUnreachable, psycopg.Error) as error:
                self.stop()
                raise Refused(self._why_too_few(error)) from None

    def _why_too_few(self, error: Exception) -> str:
        text = ngettext(
            "only %(opened)s of %(count)s idle connection could be opened: %(error)s",
            "only %(opened)s of %(count)s idle connections could be opened: %(error)s",
            self.count,
        )
        counts = {"opened": f"{len(self.connections):,}", "count": f"{self.count:,}"}
        return text % (counts | {"error": str(error).splitlines()[0]})

    def _open_one(self) -> None:
        if self._stopped.is_set():
            return
        connection = connect.connect_endpoint(
            self._endpoint, application_name=self.name, connect_timeout=CONNECT_WITHIN_S
        )
        self.connections.append(connection)
        if self.reads:
            read_catalog(connection)

    def percent(self) -> float:
        """Return the share of them that is open, in percent."""
        return 100 * len(self.connections) / self.count

    def closed_by_others(self) -> int:
        """Count those that the server or the pooler ended: only that makes an idle session readable."""
        return sum(_is_closed_by_peer(connection) for connection in self.connections)

    def close(self) -> None:
        """Close them all, broken ones included."""
        for connection in self.connections:
            with suppress(psycopg.Error, OSError):
                connection.close()


def _is_closed_by_peer(connection: Connection) -> bool:
    if connection.closed:
        return True
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLRDHUP)
    return any(event & (select.POLLRDHUP | select.POLLHUP | select.POLLERR) for _descriptor, event in poll.poll(0))


@contextmanager
def with_idle_connections(context: SetupContext) -> Iterator[None]:
    """Open them where they were asked for, and note number, time and memory. Raises `Refused`."""
    count = context.run.options.get("idle_connections")
    if not count:
        yield
        return
    _raise_open_file_limit(count)
    reads = context.run.options.get("idle_reads") != NOTHING
    idle = IdleConnections(_endpoint(context), count, f"{context.run.application_name}-idle", reads=reads)
    try:
        _open(context, idle)
        yield
        context.note({"idle": {**context.run.conditions["idle"], "closed_by_others": idle.closed_by_others()}})
    finally:
        idle.close()


def _endpoint(context: SetupContext) -> Endpoint:
    """Return the endpoint of the idle connections: the load's, or the server itself as the same role."""
    cluster, login = context.run.cluster, context.endpoint
    if context.run.options.get("idle_at") != CLUSTER or not context.run.went_through_pool or cluster is None:
        return login
    return endpoints.with_login(endpoints.of_cluster(cluster, context.run.database), login.user, login.password)


def _open(context: SetupContext, idle: IdleConnections) -> None:
    if idle.reads:
        text = ngettext(
            "opening %(count)s idle connection, which reads the catalog",
            "opening %(count)s idle connections, each of which reads the catalog",
            idle.count,
        )
    else:
        text = ngettext(
            "opening %(count)s idle connection, which reads nothing",
            "opening %(count)s idle connections, which read nothing",
            idle.count,
        )
    context.report(text % {"count": f"{idle.count:,}"})
    began = time.monotonic()
    run_in_thread(context, idle.open_all, idle.stop, idle.percent)
    seconds = round(time.monotonic() - began, 3)
    text = ngettext(
        "%(count)s idle connection is open after %(seconds)s s",
        "%(count)s idle connections are open after %(seconds)s s",
        idle.count,
    )
    context.report(text % {"count": f"{idle.count:,}", "seconds": f"{seconds:,.1f}"})
    direct = not context.run.went_through_pool or context.run.options.get("idle_at") == CLUSTER
    # Through a pool they have no sessions of their own on the server, and so none of its memory.
    pooled: Idle = {"memory": "pooled"}
    memory = memory_of(context, idle.name, idle.count, reads=idle.reads) if direct else pooled
    context.recorder.state(progress_percent=None)
    context.note({"idle": {"connections": idle.count, "opened_in_s": seconds, **memory}})


def _raise_open_file_limit(count: int) -> None:
    """Raise this worker's limit of open files as needed; raise `Refused` where the system forbids it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = count + FILES_TO_SPARE
    if hard != resource.RLIM_INFINITY and needed > hard:
        text = ngettext(
            "%(count)s idle connection needs %(needed)s open files, and this worker may have %(hard)s (ulimit -Hn): "
            "raise the limit",
            "%(count)s idle connections need %(needed)s open files, and this worker may have %(hard)s (ulimit -Hn): "
            "use fewer, or raise the limit",
            count,
        )
        raise Refused(text % {"count": f"{count:,}", "needed": f"{needed:,}", "hard": f"{hard:,}"})
    if soft != resource.RLIM_INFINITY and needed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


# PostgreSQL 11 introduced the setting.
_WITHOUT_JIT = "SELECT set_config('jit', 'off', true) FROM pg_settings WHERE name = 'jit'"
LIST = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'information_schema' ORDER BY 1"


def read_catalog(connection: psycopg.Connection[tuple[Any, ...]]) -> int:
    """Read the catalog in one transaction of this session; return the number of views read."""
    with connection.transaction():
        connection.execute(_WITHOUT_JIT)
        views = [row[0] for row in connection.execute(LIST)]
        for view in views:
            query = sql.SQL("SELECT * FROM {} LIMIT 1").format(sql.Identifier("information_schema", view))
            connection.execute(query, prepare=False)
    return len(views)


log = logging.getLogger(__name__)

# One that has read the catalog: 4.8 MB in the published run, 17.4 MB measured of 90 on PostgreSQL 15.18.
READ_LOW, READ_HIGH = 5 * MB, 18 * MB
_PIDS = "SELECT pid FROM pg_stat_activity WHERE application_name = %s ORDER BY random() LIMIT %s"


def memory_of(context: SetupContext, application_name: str, count: int, *, reads: bool = True) -> Idle:
    """Return `memory` and `memory_bytes_each`, the mean over some sessions, or `memory` with its bounds.

    `memory` is `measured`, or `estimated` with `memory_low_bytes` and `memory_high_bytes` for all.
    """
    try:
        measured = _measured(context, application_name)
    except (PoolsError, psycopg.Error) as error:
        log.info("run %s: the memory of its idle connections can't be measured: %s", context.run.pk, error)
        measured = None
    if isinstance(measured, ProcessMemory):
        return {"memory": "measured", "memory_bytes_each": measured.own, "memory_bytes": measured.own * count}
    bounds = (READ_LOW, READ_HIGH) if reads else (activity.IDLE_LOW, activity.IDLE_HIGH)
    low, high = (size * count for size in bounds)
    return {"memory": "estimated", "memory_low_bytes": low, "memory_high_bytes": high}


def _measured(context: SetupContext, application_name: str) -> ProcessMemory | process_memory.Why | None:
    if context.run.cluster is None:
        return None
    with (
        connect.connect(context.run.cluster, application_name="pooldeck-conditions") as connection,
        connection.cursor(row_factory=dict_row) as cursor,
    ):
        own, _sees_all = activity.own_session(cursor)
        rows = cursor.execute(_PIDS, (application_name, activity.PROCESSES_MEASURED)).fetchall()
        return process_memory.measure(own, [row["pid"] for row in rows])
