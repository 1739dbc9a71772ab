"""HTTP runs on real servers: the products service with each kind of connection, and addresses of one's own."""

import http.server
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from benchmarks.engines.http.tables import tables_of
from benchmarks.errors import InvalidOptions, Refused
from benchmarks.models import Dataset, LatencyHistogram, ObservationKind, Run, Status, Validity
from benchmarks.targets import datasets
from panel.quickstart.servers import PostgresServer
from pools.models import Cluster, Pool
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.conftest import execute, homes_of, wait_for
from tests.live.conftest import APP_PASSWORD, APP_ROLE

pytestmark = [pytest.mark.usefixtures("queue", "in_this_process"), pytest.mark.usefixtures("few_are_enough")]

Start = Callable[..., Run]


@pytest.fixture
def start(cluster: Cluster, bench: str, transactional_db: None) -> Start:
    """Carries an HTTP run out that stands on the database `loaded`, or on a pool of it."""

    def start_run(
        purpose: str = "load", pool: Pool | None = None, confirm: str = "", user: str = "", **options: Any
    ) -> Run:
        target = {"pool": str(pool.pk)} if pool else {"cluster": str(cluster.pk), "database": bench, "user": user}
        asked = {"target": target, "options": options, "author": None, "engine": "http"}
        return execute(submit_one(**asked, purpose=purpose, confirm=confirm))

    return start_run


@pytest.fixture
def empty(bench: str, postgres: PostgresServer) -> str:
    """The database without a table of products."""
    with postgres.connect(bench) as session:
        session.execute("DROP TABLE IF EXISTS products")
    return bench


@pytest.fixture
def filled(request: pytest.FixtureRequest, start: Start, bench: str, cluster: Cluster) -> str:
    """The database with a table of products that the panel made, kept between tests: they only read it."""
    found = datasets.facts(cluster, bench, tables_of({"rows": 20_000}, purpose="prepare"))
    if not (found.complete and found.scale == 20_000):
        request.getfixturevalue("empty")
        made = start("prepare", rows=20_000)
        assert made.status == Status.SUCCEEDED, made.error
    return bench


def test_products_are_made_measured_and_dropped(start: Start, empty: str, postgres: PostgresServer) -> None:
    made = start("prepare", rows=20_000)
    assert (made.status, made.reasons, made.progress_percent) == (Status.SUCCEEDED, [], 100.0), made.error
    with postgres.connect(empty) as session:
        row = session.execute("SELECT count(*), pg_total_relation_size('products') FROM products").fetchone()
    wanted = tables_of({"rows": 20_000}, purpose="prepare")
    assert wanted is not None
    assert row is not None
    assert (row[0], Dataset.objects.get().engine) == (20_000, "http")
    assert wanted.takes_bytes == pytest.approx(row[1], rel=0.1)
    assert start("prepare", action="drop").status == Status.SUCCEEDED
    assert Dataset.objects.count() == 0
    with pytest.raises(Refused, match="loaded lacks products tables: prepare a dataset first"):
        start(concurrency=1, duration=1)


def test_a_table_of_products_of_others_is_not_replaced_unasked(
    start: Start, bench: str, postgres: PostgresServer
) -> None:
    with postgres.connect(bench) as session:
        session.execute("DROP TABLE IF EXISTS products")
        session.execute("CREATE TABLE products AS SELECT 1 AS id")
    with pytest.raises(Refused, match="loaded holds products that this panel did not make"):
        start("prepare", rows=1_000)


@pytest.mark.parametrize("connection", ["new", "normal", "pooled"])
def test_each_kind_of_connection_answers(start: Start, filled: str, connection: str) -> None:
    run = start(connection=connection, concurrency=4, duration=2)
    assert (run.status, run.exit_code, run.error) == (Status.SUCCEEDED, 0, "")
    assert run.validity in (Validity.VALID, Validity.SUSPECT), run.reasons  # a busy machine may stall
    assert (run.summary["failed"], run.summary["errors"], run.summary["clients"]) == (0, {}, 4)
    assert run.summary["bytes"] == pytest.approx(86_500 * run.summary["transactions"], rel=0.02)
    assert run.summary["effective_clients"] == pytest.approx(4, abs=0.8)
    samples = list(run.samples.all())
    assert len(samples) in (1, 2)
    assert any(sample.latency_p95_ms for sample in samples)
    assert run.summary["latency_p50_ms"] <= run.summary["latency_p99_ms"]
    assert LatencyHistogram.objects.get(run=run).count == run.summary["transactions"]
    assert not any(APP_PASSWORD in word for word in run.command)
    assert (homes_of(run), services_of(run)) == ([], [])


def test_the_service_can_stand_on_a_pool(start: Start, pool: Pool, filled: str) -> None:
    run = start(pool=pool, connection="pooled", concurrency=4, duration=2)
    assert (run.status, run.summary["failed"]) == (Status.SUCCEEDED, 0)
    assert run.pool_samples.count() >= 1


def test_too_many_connections_are_errors_by_kind_in_the_servers_words(start: Start, filled: str) -> None:
    run = start(connection="normal", concurrency=200, duration=1)
    assert (run.status, run.validity) == (Status.SUCCEEDED, Validity.SUSPECT)
    assert run.summary["errors"]["status 500"] > 0
    assert "requests failed" in run.reasons[0]
    output = run.output.stdout
    assert "connection slots are reserved" in output or "too many clients already" in output


def test_a_pool_that_the_server_has_no_room_for_is_refused_before_anything_is_queued(start: Start, filled: str) -> None:
    with pytest.raises(InvalidOptions) as refused:
        start(connection="pooled", pool_size=90, idle_connections=10, concurrency=2, duration=1)
    there = "the 97 that live has for logins (max_connections 100, 3 of them reserved)"
    assert refused.value.errors == {
        "pool_size": [
            f"90 connections and the 10 of idle_connections are more than {there}: use at most 87, or let them go "
            "through a pool"
        ],
        "idle_connections": [
            f"10 connections and the 90 of pool_size are more than {there}: use at most 7, or let them go through a "
            "pool"
        ],
    }
    assert not Run.objects.filter(purpose="load").exists()


def test_a_pool_that_is_refused_connections_makes_the_figures_doubtful(
    start: Start, filled: str, postgres: PostgresServer
) -> None:
    with postgres.connect() as session:
        session.execute(f"ALTER DATABASE {filled} CONNECTION LIMIT 10")
        try:
            run = start(connection="pooled", pool_size=90, concurrency=4, duration=1, user=APP_ROLE)
        finally:
            session.execute(f"ALTER DATABASE {filled} CONNECTION LIMIT -1")
    assert (run.status, run.summary["failed"], run.validity) == (Status.SUCCEEDED, 0, Validity.SUSPECT), run.error
    words = "the service's pool was refused connections, so it was smaller than asked for: "
    doubts = [reason for reason in run.reasons if reason.startswith(words)]
    assert len(doubts) == 1
    assert f'too many connections for database "{filled}"' in doubts[0]
    assert run.conditions["service"]["exit_code"] is None


def test_the_processor_of_the_service_is_told_and_named_where_it_is_the_limit(start: Start, filled: str) -> None:
    run = start(connection="pooled", pool_size=10, concurrency=8, duration=3)
    taken = run.conditions["meanwhile"]["service_cpu_percent"]
    assert 0 < taken < 200  # looks are not quite a second apart
    observations = run.observations.filter(kind=ObservationKind.GENERATOR)
    assert all(observation.figures["service_cpu_percent"] >= 0 for observation in observations)
    described = [reason for reason in run.reasons if reason.startswith(f"the products service took {taken:.0f} % of")]
    assert len(described) == (taken > 90), run.reasons


def services_of(run: Run) -> list[int]:
    """The process ids of the run's products services."""
    wanted = f"PGAPPNAME={run.application_name}".encode()
    found = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdigit() and wanted in (path / "environ").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def test_a_service_ends_with_its_run_whatever_happens(
    start: Start, filled: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = {"cluster": str(cluster.pk), "database": filled}
    asked = {"concurrency": 2, "duration": 60}
    run = submit_one(target=target, options=asked, author=None, engine="http")
    ending = threading.Thread(target=_kill_the_service, args=(run,), kwargs={"cancel": True})
    ending.start()
    ended = execute(run)
    ending.join()
    assert ended.status == Status.CANCELLED, ended.error
    assert ended.summary.get("errors", {}) == {} or ended.error
    assert services_of(run) == []


def test_a_service_that_ended_before_its_load_is_named(start: Start, filled: str, cluster: Cluster) -> None:
    target = {"cluster": str(cluster.pk), "database": filled}
    run = submit_one(target=target, options={"concurrency": 2, "duration": 5}, author=None, engine="http")
    ending = threading.Thread(target=_kill_the_service, args=(run,), kwargs={"cancel": False})
    ending.start()
    ended = execute(run)
    ending.join()
    assert ended.status == Status.SUCCEEDED, ended.error
    assert ended.validity != Validity.VALID
    assert "the service that was loaded ended before the load did: what came after it only failed" in ended.reasons
    assert ended.conditions["service"] == {"refused": "", "exit_code": -signal.SIGKILL}


def _kill_the_service(run: Run, *, cancel: bool) -> None:
    """Once samples come, its service is killed, and the run cancelled."""
    from django.db import connections

    try:
        seen = wait_for(run, lambda one: one.samples.count() >= 1, 60.0)
        for pid in services_of(seen):
            os.kill(pid, signal.SIGKILL)
        if cancel:
            time.sleep(1)
            seen.request_cancel()
    finally:
        connections.close_all()


class Shop(http.server.BaseHTTPRequestHandler):
    """A small web server: fine, slow, broken, or hanging up."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        match self.path:
            case "/slow":
                time.sleep(1.5)
            case "/hangup":
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
        self.send_response({"/missing": 404, "/moved": 302}.get(self.path, 200))
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def shop(settings: Settings) -> Iterator[str]:
    """The address of a web server of one's own, allow-listed."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        settings.HTTP_ALLOW = [f"127.0.0.1:{server.server_port}"]
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("path", "errors"),
    [
        ("/", set()),
        ("/slow", {"timeout"}),
        ("/missing", {"status 404"}),
        ("/moved", {"status 302"}),
        ("/hangup", {"reset"}),
    ],
)
def test_an_address_of_ones_own_is_loaded_and_its_errors_told_by_kind(
    start: Start, shop: str, path: str, errors: set[str]
) -> None:
    run = start(url=f"{shop}{path}", concurrency=2, duration=2, timeout=0.5 if path == "/slow" else 30)
    assert run.summary["errors"].keys() == errors, run.error
    assert (run.status, run.exit_code) == (Status.SUCCEEDED, 0)
    assert (run.summary["transactions"] > 0) == (not errors)
    assert (run.validity == Validity.INCOMPLETE) == bool(errors), run.reasons  # a busy machine may stall


def test_a_warm_up_is_thrown_away(start: Start, filled: str) -> None:
    run = start(connection="normal", concurrency=2, duration=2, warm_up=1)
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    assert run.conditions["warm_up"]["seconds"] >= 1
    assert LatencyHistogram.objects.get(run=run).count == run.summary["transactions"]


def test_new_connections_are_timed(start: Start, shop: str) -> None:
    run = start(url=shop, concurrency=1, duration=1, new_connections=True)
    assert 0 < run.summary["average_connection_ms"] < run.summary["latency_avg_ms"]


def test_nobody_there_is_refused_by_kind(start: Start, shop: str, settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    settings.HTTP_ALLOW = ["127.0.0.1"]
    run = start(url=f"http://127.0.0.1:{free}/", concurrency=1, duration=1)
    assert run.summary["errors"].keys() == {"refused"}
    assert run.validity == Validity.INCOMPLETE
    assert re.match(r"no request was processed, \d+ failed: error: refused: ", run.reasons[0])


def test_an_address_that_is_the_panels_own_fails_before_anything_is_sent(start: Start, settings: Settings) -> None:
    settings.HTTP_ALLOW = ["127.0.0.1"]
    port = settings.REDIS_URL.rsplit(":", 1)[1].partition("/")[0]
    run = start(url=f"http://127.0.0.1:{port}/", concurrency=1, duration=1)
    assert run.status == Status.FAILED
    assert "where the panel's own services listen" in run.error
