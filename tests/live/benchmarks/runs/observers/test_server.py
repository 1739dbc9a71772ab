"""What is seen of real servers of several versions while they work."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from queue import Queue
from typing import Any

import psycopg
import pytest

from benchmarks.models import ObservationKind, Run
from benchmarks.processes.machines import HomeHere
from benchmarks.runs.observers import probes
from benchmarks.runs.observers import server as watcher
from benchmarks.runs.observers.base import LoadContext, ObservedFigures
from panel.quickstart.servers import PostgresServer, free_port
from tests.live.standbys import registered, until
from tests.postgresqls import bindirs, swept

pytestmark = pytest.mark.django_db(transaction=True)

LIMIT = 12
SETTINGS = {"max_connections": str(LIMIT), "superuser_reserved_connections": "1", "work_mem": "64kB"}


@pytest.fixture(scope="module", params=swept())
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A small server of each version, with a role that may see nothing of the others."""
    home, bindir = tmp_path_factory.mktemp("watched"), bindirs()[request.param]
    with PostgresServer(home, free_port(), password="own-secret", bindir=bindir, settings=SETTINGS) as server:
        server.create_owner_and_database("app", "app-secret", "shop")
        with server.connect() as session:
            session.execute("CREATE ROLE looker LOGIN PASSWORD 'looker-secret'")
        yield server


@pytest.fixture
def run(server: PostgresServer) -> Run:
    return Run.objects.enqueue(cluster=registered(server), database="shop")


def client(server: PostgresServer) -> "psycopg.Connection[Any]":
    """A session of `app` in the loaded database."""
    login = {"dbname": "shop", "user": "app", "password": "app-secret", "application_name": "load"}
    return psycopg.connect(host=server.host, port=server.port, connect_timeout=5, autocommit=True, **login)


@contextmanager
def watched(run: Run) -> Iterator[Callable[[], dict[str, Any]]]:
    """Gives the next look's figures each time it is called."""
    events: Queue[object] = Queue()
    with (
        probes.opened(run) as around,
        watcher.watching(LoadContext(run, 1, HomeHere(Path("/nowhere")), events, around)),
    ):

        def following() -> dict[str, Any]:
            seen = events.get(timeout=30)
            assert isinstance(seen, ObservedFigures)
            assert seen.kind == ObservationKind.SERVER
            return dict(seen.figures)

        yield following


def test_sessions_are_counted_by_what_they_wait_for_and_by_state(server: PostgresServer, run: Run) -> None:
    with ExitStack() as held:
        holder, waiter, _ = (held.enter_context(client(server)) for _ in range(3))
        holder.execute("BEGIN; SELECT pg_advisory_xact_lock(1)")
        blocked = threading.Thread(target=waiter.execute, args=["SELECT pg_advisory_xact_lock(1)"])
        blocked.start()
        with watched(run) as observe:
            found = until(lambda: found if "Lock:advisory" in (found := observe())["waits"] else None)
        holder.execute("ROLLBACK")
        blocked.join()
    assert found["waits"] == {"Lock:advisory": 1, "Client:ClientRead": 1}
    assert found["states"] == {"active": 1, "idle in transaction": 1, "idle": 1}


def test_a_session_that_waits_for_nothing_takes_the_processor(server: PostgresServer, run: Run) -> None:
    with client(server) as busy, watched(run) as observe:
        counting = threading.Thread(
            target=busy.execute, args=["SELECT sum(id) FROM (SELECT generate_series(1, 9000000) id) ids"]
        )
        counting.start()
        assert until(lambda: found if "CPU" in (found := observe()["waits"]) else None) == {"CPU": 1}
        counting.join()


def test_counters_are_told_by_the_second(server: PostgresServer, run: Run) -> None:
    with client(server) as session, watched(run) as observe:
        first = observe()
        assert set(first) == {"waits", "states"}
        session.execute("CREATE TABLE IF NOT EXISTS filled AS SELECT generate_series(1, 100000) AS id")
        session.execute("SELECT * FROM filled ORDER BY id DESC LIMIT 1 OFFSET 99999")
        for _ in range(50):
            session.execute("SELECT 1")
        with pytest.raises(psycopg.Error):
            session.execute("SELECT 1/0")
        # Otherwise the session reports its statistics only after ten idle seconds.
        session.execute("SELECT pg_stat_force_next_flush()")
        sums = summed(observe, ("commits_per_s", "rollbacks_per_s", "temp_files_per_s", "blocks_hit_per_s"))
        session.execute("DROP TABLE filled")
        assert ("written_bytes_per_s" in sums) == (session.info.server_version >= 160_000)
    assert sums["wal_bytes_per_s"] > 1_000_000
    assert sums["temp_bytes_per_s"] > 100_000


def summed(observe: Callable[[], dict[str, Any]], wanted: tuple[str, ...]) -> dict[str, float]:
    """What the looks add up to once all the wanted figures were seen: statistics come in with some delay."""
    sums: dict[str, float] = {}

    def enough() -> dict[str, float] | None:
        for name, value in observe().items():
            if isinstance(value, int | float):
                sums[name] = sums.get(name, 0) + value
        return sums if all(sums.get(name) for name in wanted) else None

    return until(enough)


def test_a_checkpoint_is_counted(server: PostgresServer, run: Run) -> None:
    with server.connect() as admin, watched(run) as observe:
        observe()
        admin.execute("CREATE TABLE some_wal ()")
        admin.execute("DROP TABLE some_wal")
        admin.execute("CHECKPOINT")
        assert summed(observe, ("checkpoints_requested",))["checkpoints_timed"] == 0


def test_a_server_without_a_free_connection_is_still_asked(server: PostgresServer, run: Run) -> None:
    with watched(run) as observe, ExitStack() as held:
        taken = 0
        with suppress(psycopg.OperationalError):
            while taken <= LIMIT:
                held.enter_context(client(server))
                taken += 1
        assert taken == LIMIT - 2  # one is kept for superusers, one watches
        assert until(lambda: found if (found := observe()["states"]).get("idle") == taken else None)


def test_what_the_role_may_not_see_is_said(server: PostgresServer, run: Run) -> None:
    run.cluster.admin_user, run.cluster.admin_password = "looker", "looker-secret"
    with client(server), probes.opened(run) as around:
        assert around.hidden == probes.HIDDEN
    with client(server), watched(run) as observe:
        assert observe() == {"waits": {}, "states": {"hidden": 1}, "hidden": probes.HIDDEN}
        assert "hidden" not in observe()


def test_a_server_that_hung_up_is_asked_again(server: PostgresServer, run: Run, monkeypatch: Any) -> None:
    monkeypatch.setattr(watcher, "RECONNECT_AFTER_S", 0.2)
    with server.connect() as admin, watched(run) as observe:
        observe()
        ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = %s"
        assert admin.execute(ended, [probes.NAME]).fetchone() == (1,)
        assert "waits" in observe()


def test_a_server_that_hangs_holds_no_run_up(server: PostgresServer, run: Run) -> None:
    with server.connect() as admin, ExitStack() as load:
        observe = load.enter_context(watched(run))
        observe()
        of_watcher = "SELECT pid FROM pg_stat_activity WHERE application_name = %s"
        (backend,) = admin.execute(of_watcher, [probes.NAME]).fetchone() or (0,)
        os.kill(backend, signal.SIGSTOP)
        try:
            time.sleep(1.5)  # the next look waits for its answer
            began = time.monotonic()
            load.close()
            assert time.monotonic() - began < 20
        finally:
            os.kill(backend, signal.SIGCONT)


def test_a_server_that_can_not_be_reached_is_not_watched(server: PostgresServer, run: Run) -> None:
    run.cluster.port = free_port()
    with probes.opened(run) as around:
        assert around == probes.ServerProbe()


def test_the_host_of_a_server_on_this_machine_is_proved(run: Run) -> None:
    with probes.opened(run) as around:
        assert around.is_here
