"""The recorded mix of a pool on a real server: what clients queried is what the advice measures with."""

import re
import time
from collections.abc import Iterator

import psycopg
import pytest
import redis
from django.apps import apps
from django.core import serializers
from django.test import Client

from benchmarks.experiments.advice import answers, grid, recorded, sweep
from benchmarks.experiments.advice.recorded import RecordedMix
from benchmarks.experiments.advice.request import AdviceRequest
from benchmarks.experiments.start import InvalidExperiment
from benchmarks.library.scripts import sampled
from benchmarks.models import Experiment, ExperimentState, Purpose, Run, Status
from panel.quickstart.servers import PostgresServer, RedisServer, free_port
from pools.models import Cluster, Pool
from tests.callers import bearer, person
from tests.live.benchmarks.experiments.conftest import at_a_rate, until_ended
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE, FAST, SUPERUSER_PASSWORD
from tests.live.panel_programs import TestWorker

pytestmark = pytest.mark.django_db(transaction=True)
TABLE = """
    CREATE TABLE orders (id serial PRIMARY KEY, city text, paid boolean, ordered_at timestamptz DEFAULT now());
    INSERT INTO orders (city, paid) SELECT 'city ' || n % 7, n % 2 = 0 FROM generate_series(1, 5000) n;
    UPDATE orders SET city = 'half :past' WHERE city = 'city 0';
    CREATE TABLE logs (id text, note text);
    INSERT INTO logs SELECT 'log ' || n, 'note' FROM generate_series(1, 100) n;
    ANALYZE orders, logs;
"""
BY_ID = "SELECT city FROM orders WHERE id = %s"
BY_CITY = "SELECT count(*) FROM orders WHERE city = %s AND paid AND ordered_at < %s"
RANGE = "SELECT * FROM orders WHERE id BETWEEN %s AND %s ORDER BY id LIMIT 5"
LISTED = (
    "SELECT o.id FROM orders o LEFT JOIN logs ON note = city"
    " WHERE o.id = ANY(%s) OR city IN ('city 1', 'city 2') LIMIT 3"
)


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A PostgreSQL that counts statements."""
    settings = FAST | {"shared_preload_libraries": "pg_stat_statements"}
    home = tmp_path_factory.mktemp("postgres-counting")
    with PostgresServer(home, free_port(), password=SUPERUSER_PASSWORD, settings=settings) as server:
        server.create_owner_and_database(APP_ROLE, APP_PASSWORD, APP_DATABASE)
        yield server


@pytest.fixture
def dataset(postgres: PostgresServer) -> str:
    """The pool's database, without tables of pgbench."""
    return APP_DATABASE


def work(server: PostgresServer) -> None:
    """Let the role do what an application does: mostly queries, some changes, and what only looks like a query."""
    login = {"host": server.host, "port": server.port, "user": APP_ROLE, "password": APP_PASSWORD}
    with psycopg.connect(**login, dbname=APP_DATABASE, autocommit=True) as session:
        session.execute(TABLE)
        with server.connect(APP_DATABASE) as admin:
            admin.execute("SELECT pg_stat_statements_reset()")
        for number in range(60):
            session.execute(BY_ID, [number])
        for number in range(30):
            session.execute(BY_CITY, [f"city {number % 7}", "2020-01-01"])
        for number in range(9):
            session.execute(RANGE, [number, number + 10])
        session.execute(LISTED, [[1, 2]])
        session.execute("""SELECT "nextval"('orders_id_seq')""")
        session.execute("SELECT city FROM orders WHERE id = 1 FOR UPDATE")
        session.execute("WITH gone AS (DELETE FROM orders WHERE id = 0 RETURNING id) SELECT * FROM gone")
        for number in range(17):
            session.execute("UPDATE orders SET paid = true WHERE id = %s", [number])
        session.execute("SET application_name = 'shop'")


@pytest.fixture
def refused(checked: Cluster, pool: Pool) -> str:
    """Why there is no mix while the extension is missing, and none while nothing is counted."""
    with pytest.raises(InvalidExperiment) as missing:
        recorded.read(pool)
    return str(missing.value.errors["workload"][0])


@pytest.mark.usefixtures("worker")
def test_what_clients_queried_is_measured_and_nothing_is_written(
    pool: Pool, postgres: PostgresServer, refused: str, author: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refused.endswith("restart the server, and run CREATE EXTENSION pg_stat_statements there")
    with postgres.connect(APP_DATABASE) as admin:
        admin.execute("CREATE EXTENSION pg_stat_statements; SELECT pg_stat_statements_reset()")
    with pytest.raises(InvalidExperiment, match="let the application work for a while first"):
        recorded.read(pool)
    work(postgres)
    is_as_counted(recorded.read(pool), pool)
    monkeypatch.setattr(sweep, "REPEATS", 1)
    monkeypatch.setattr(grid, "MOST_S", 2)
    asked = {"recorded": True, "clients": 2, "report_per_command": True}
    request = AdviceRequest(cluster=pool.cluster, pool=pool, author=author, workload=asked, question="pooling")
    experiment = until_ended(at_a_rate(sweep.ask(request)))
    assert experiment.state == ExperimentState.SUCCEEDED, experiment.reasons
    runs = list(experiment.runs.filter(purpose=Purpose.LOAD))
    assert {run.arm for run in runs} >= {"kept-direct", "kept-pooled", "reconnecting-direct", "reconnecting-pooled"}
    assert all(run.summary["tps"] > 0 and run.summary["failed"] == 0 for run in runs)
    assert {len(run.options["scripts"]) for run in runs} == {4}
    assert any("WHERE city = " in one["statement"] for one in runs[0].statements)
    no_reader_sees_the_values(experiment, runs[0])
    words = " ".join(answers.limits(experiment))
    assert f"the recorded mix of role {APP_ROLE} in database {APP_DATABASE}: 4 queries, 83 % of the calls" in words
    assert (
        "3 statements that write or lock rows are left out. 1 query is left out: a function in it could write" in words
    )
    measured = {one["name"] for one in runs[0].options["scripts"]}
    # of the measurement only its pings are counted as queries of another kind
    assert {one["name"] for one in recorded.read(pool).scripts} == measured | {"SELECT $1"}
    with postgres.connect(APP_DATABASE) as admin:
        # the one value that a client took, and none since
        assert admin.execute("SELECT count(*), max(id) FROM orders").fetchone() == (5000, 5000)
        assert admin.execute("SELECT last_value FROM orders_id_seq").fetchone() == (5001,)


def no_reader_sees_the_values(experiment: Experiment, run: Run) -> None:
    """Read all that shows a run and its experiment as a viewer and as an admin: values of columns are nowhere."""
    seen, api = [], f"/api/v1/runs/{run.pk}/"
    for staff in (False, True):
        viewer = Client()
        viewer.force_login(person(staff=staff))
        of_run = [api, f"/runs/{run.pk}/", *(f"{api}{one}/" for one in ("log", "evidence"))]
        of_run += [f"{api}export/?as={one}" for one in ("json", "csv", "html")]
        of_run += [f"/runs/{run.pk}/output/", *(f"/runs/{run.pk}/export/{one}/" for one in ("json", "csv", "html"))]
        reports = [f"/experiments/{experiment.pk}/report/{one}/" for one in ("html", "json", "csv")]
        for url in [*of_run, *reports, f"/api/v1/experiments/{experiment.pk}/", f"/experiments/{experiment.pk}/"]:
            answer = viewer.get(url)
            if answer.status_code == 200:
                seen.append(url)
                text = b"".join(answer) if answer.streaming else answer.content
                assert not re.search(rb"city \d|random\(1, 5000\)", text), url
    assert len(seen) >= 12, seen
    stored = (
        run.options,
        run.summary,
        run.statements,
        run.command,
        run.conditions,
        run.output.stdout,
        run.output.stderr,
    )
    assert not re.search(r"city \d|random\(1, 5000\)", f"{stored} {experiment.definition} {experiment.plan}")


def executed(script: str, pool: Pool) -> str:
    """Return the text that a run of this script executes."""
    run = Run(cluster=pool.cluster, database=pool.database, pool=pool, options={"scripts": [{"text": script}]})
    return sampled.drawn(run)[script]


def is_as_counted(mix: RecordedMix, pool: Pool) -> None:
    """Check the mix of what `work` did."""
    by_id, by_city, ranged, listed = mix.scripts
    assert [one["weight"] for one in mix.scripts] == [600, 300, 90, 10]
    assert by_id["text"].endswith("\nSELECT city FROM orders WHERE id = $1;\n")
    assert by_city["text"].endswith("\nSELECT count(*) FROM orders WHERE city = $1 AND paid AND ordered_at < $2;\n")
    by_id, by_city, ranged, listed = (executed(one["text"], pool) for one in mix.scripts)
    assert by_id == "\\set p1 random(1, 5000)\nSELECT /* pooldeck */ city FROM orders WHERE id = (:p1);\n"
    assert by_city.startswith("\\set p1 random(1, 6)\n\\set p2 random(1, ")
    assert "'city 3'" in by_city
    assert ":past" not in by_city  # pgbench would take it for a variable.
    assert "BETWEEN (:p1) AND (:p1 + 4) ORDER BY id LIMIT (10)" in ranged
    assert "id = ANY((ARRAY[:p1]::integer[])) OR city IN (((ARRAY[" in listed
    assert mix.left_out == {"writes": 3, "unsafe": 1}
    assert mix.share == pytest.approx(100 / 120)
    assert mix.since.endswith("+00:00")


CUSTOMERS = """
    CREATE TABLE customers (email text, card bigint);
    INSERT INTO customers SELECT 'canary-' || n || '@example.org', 4111111111110000 + n FROM generate_series(1, 200) n;
    ANALYZE customers;
"""
CANARY = re.compile(r"canary-\d+@|41111111111\d{5}")
FAILING = "SELECT email::integer FROM customers WHERE email = $1"  # the server's message names the value


@pytest.mark.usefixtures("checked")
def test_values_of_columns_are_kept_nowhere(
    pool: Pool, postgres: PostgresServer, worker: TestWorker, queue: RedisServer
) -> None:
    ask_for_customers(postgres)
    scripts = [{"text": one["text"]} for one in recorded.read(pool).scripts]
    assert [one["text"].partition("\n")[2] for one in scripts] == [
        "SELECT card FROM customers WHERE email = $1;\n",
        "SELECT email FROM customers WHERE card = $1;\n",
    ]
    assert all(CANARY.search(executed(one["text"], pool)) for one in scripts)
    measured, failed = (run_to_its_end(pool, some) for some in (scripts, [{"text": sampled.marked(FAILING)}]))
    assert (measured.status, measured.summary["failed"]) == (Status.SUCCEEDED, 0)
    assert (failed.status, "(not shown)" in failed.output.stderr) == (Status.FAILED, True)
    places = everything_kept() | {"log": worker.log, "redis": all_of(queue)}
    places |= {url: text for run in (measured, failed) for url, text in every_answer(run)}
    assert {name for name, text in places.items() if CANARY.search(text)} == set()
    Run.objects.filter(pk=failed.pk).update(error="card 4111111111110042 was declined")
    assert [name for name, text in everything_kept().items() if CANARY.search(text)] == ["benchmarks.Run"]


def ask_for_customers(server: PostgresServer) -> None:
    """Let the application look for customers by what identifies them."""
    login = {"host": server.host, "port": server.port, "user": APP_ROLE, "password": APP_PASSWORD}
    with psycopg.connect(**login, dbname=APP_DATABASE, autocommit=True) as session:
        session.execute(CUSTOMERS)
        with server.connect(APP_DATABASE) as admin:
            admin.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements; SELECT pg_stat_statements_reset()")
        for number in range(30):
            session.execute("SELECT card FROM customers WHERE email = %s", [f"canary-{number}@example.org"])
        for number in range(9):
            session.execute("SELECT email FROM customers WHERE card = %s", [4111111111110000 + number])


def run_to_its_end(pool: Pool, scripts: list[dict[str, str]]) -> Run:
    """Start a run by the API as a client does, and wait for its end."""
    body = {"target": {"pool": str(pool.pk)}, "options": {"clients": 2, "transactions": 50, "scripts": scripts}}
    made = bearer().post("/api/v1/runs/", {**body, "confirm": pool.database})
    assert made.status_code in (201, 202), made.content
    run = Run.objects.get(pk=made.json()["id"])
    deadline = time.monotonic() + 120
    while not run.is_final:
        assert time.monotonic() < deadline, run.status
        time.sleep(0.2)
        run.refresh_from_db()
    return run


def everything_kept() -> dict[str, str]:
    """Return the metadata database as text, by model."""
    return {model._meta.label: serializers.serialize("json", model._base_manager.all()) for model in apps.get_models()}


def all_of(queue: RedisServer) -> str:
    """Return what Redis has: streams, queues and the rest, as it would be written to a dump."""
    with redis.Redis.from_url(queue.url) as client:
        streams = [client.xrange(key) for key in client.scan_iter(_type="stream")]
        return f"{streams} {[client.dump(key) for key in client.scan_iter()]}"


def every_answer(run: Run) -> Iterator[tuple[str, str]]:
    """Yield what an admin's browser and the API get of a run, by address."""
    browser = Client()
    browser.force_login(person())
    page, api = f"/runs/{run.pk}/", f"/api/v1/runs/{run.pk}/"
    parts = ["", "output/", *(f"export/{one}/" for one in ("json", "csv", "html"))]
    of_api = ["", "log/", "evidence/", "samples/", *(f"export/?as={one}" for one in ("json", "csv", "html"))]
    compared = [f"/api/v1/comparisons/?runs={run.pk}", f"/runs/new/?from={run.pk}", "/runs/", "/api/v1/runs/"]
    for url in [*(page + one for one in parts), *(api + one for one in of_api), *compared]:
        answer = browser.get(url)
        yield url, (b"".join(answer) if answer.streaming else answer.content).decode()
