"""JMeter on real servers: a JDBC plan straight and through a pool, an HTTP plan, and what can't be run.

They run where POOLDECK_TEST_JMETER names the home of a JMeter 5, as script/jmeter makes one; Debian's 2.13 can't read
plans.
"""

import http.server
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pytest_django import Settings

from benchmarks.errors import Refused
from benchmarks.generators import heartbeats
from benchmarks.models import LatencyHistogram, Run, Status, Validity
from benchmarks.processes import sandbox
from panel.quickstart.servers import PostgresServer
from pools.models import Cluster, Pool
from tests.benchmarks.processes.sandbox.mechanisms import MECHANISMS
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.conftest import execute, homes_of
from tests.live.conftest import APP_PASSWORD, APP_ROLE

JMETER = os.environ.get("POOLDECK_TEST_JMETER", "")
pytestmark = [
    pytest.mark.usefixtures("few_are_enough"),
    pytest.mark.usefixtures("queue", "in_this_process"),
    pytest.mark.skipif(not JMETER, reason="POOLDECK_TEST_JMETER names no home of a JMeter 5"),
]

PLANS = Path(__file__).parents[3] / "benchmarks" / "engines" / "jmeter" / "plans"
Start = Callable[..., Run]


@pytest.fixture
def plans(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of plans, which the panel reads."""
    monkeypatch.setattr(heartbeats, "seen", list)  # generators of other tests have no such plans
    settings.JMETER, settings.JMETER_PLANS = JMETER, str(tmp_path)
    (tmp_path / "jdbc.jmx").write_text((PLANS / "jdbc.jmx").read_text())
    return tmp_path


@pytest.fixture
def start(cluster: Cluster, bench: str, plans: Path, postgres: PostgresServer, transactional_db: None) -> Start:
    """Carries a run of a plan out in the database `loaded`, which holds a table of products, as the role `app`."""
    with postgres.connect(bench) as session:
        session.execute("DROP TABLE IF EXISTS products")
        session.execute("CREATE TABLE products (id int, name text, price numeric)")
        session.execute("INSERT INTO products SELECT n, 'P', 1.5 FROM generate_series(1, 1000) n")
        session.execute(f"GRANT SELECT ON products TO {APP_ROLE}".encode())
    cluster.keep_password(APP_ROLE, APP_PASSWORD)

    def start_run(pool: Pool | None = None, **options: Any) -> Run:
        direct = {"cluster": str(cluster.pk), "database": bench, "user": APP_ROLE}
        target = {"pool": str(pool.pk)} if pool else direct
        run = submit_one(target=target, options=options, author=None, engine="jmeter")
        return execute(run)

    return start_run


def test_a_jdbc_plan_has_samples_a_summary_and_a_histogram(start: Start) -> None:
    run = start(plan="jdbc.jmx", clients=3, duration=6)
    assert (run.status, run.exit_code, run.error) == (Status.SUCCEEDED, 0, "")
    assert (run.summary["clients"], run.summary["failed"], run.summary["errors"]) == (3, 0, {})
    assert run.samples.count() >= 3
    assert run.summary["latency_p50_ms"] <= run.summary["latency_p99_ms"]
    assert LatencyHistogram.objects.get(run=run).count == run.summary["transactions"]
    assert not any(APP_PASSWORD in word for word in run.command)
    assert APP_PASSWORD not in run.output.stdout
    assert homes_of(run) == []
    assert "/proc" not in " ".join(run.command)  # people are shown the words without the sandbox


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_jdbc_plan_goes_through_the_pool_from_each_sandbox(
    start: Start, pool: Pool, mechanism: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "MECHANISMS", (mechanism,))
    sandbox.mechanism_for.cache_clear()
    run = start(pool=pool, plan="jdbc.jmx", clients=3, duration=5)
    assert (run.status, run.summary["failed"]) == (Status.SUCCEEDED, 0)
    observations = list(run.pool_samples.order_by("seq"))
    assert max(observation.cl_active for observation in observations) >= 1
    assert [observation.t for observation in observations] == sorted(observation.t for observation in observations), (
        "all on the clock of the first request"
    )


class Shop(http.server.BaseHTTPRequestHandler):
    """A web server whose every tenth answer is an error."""

    protocol_version = "HTTP/1.1"
    count = 0

    def do_GET(self) -> None:
        type(self).count += 1
        self.send_response(503 if self.count % 10 == 0 else 200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def shop(plans: Path, settings: Settings) -> Iterator[str]:
    """The name of a plan that goes to a web server of one's own, allow-listed."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings.HTTP_ALLOW = [f"localhost:{server.server_port}"]
        text = (PLANS / "http.jmx").read_text()
        text = text.replace("shop.example", "localhost").replace("8080", str(server.server_port))
        (plans / "http.jmx").write_text(text)
        yield "http.jmx"
        server.shutdown()


def test_an_http_plan_goes_to_the_listed_host_with_errors_by_kind(start: Start, shop: str) -> None:
    run = start(plan=shop, clients=2, duration=4)
    assert run.status == Status.SUCCEEDED
    assert run.validity != Validity.VALID  # on a busy machine the late first request is a reason too
    assert run.summary["errors"].keys() == {"status 503"}
    ((failed, processed),) = re.findall(r"(\d+) of (\d+) requests failed", "\n".join(run.reasons))
    assert int(failed) in {int(processed) // 10, int(processed) // 10 + 1}


def test_a_plan_that_fails_says_why(start: Start, postgres: PostgresServer, bench: str) -> None:
    with postgres.connect(bench) as session:
        session.execute("DROP TABLE products")
    run = start(plan="jdbc.jmx", clients=1, duration=2)
    assert run.validity == Validity.INCOMPLETE
    assert "no request was processed" in run.reasons[0]
    assert 'relation "products" does not exist' in run.output.stdout


def test_a_superuser_may_not_run_a_plan(start: Start, cluster: Cluster, bench: str) -> None:
    target = {"cluster": str(cluster.pk), "database": bench}
    with pytest.raises(Refused, match="is a superuser"):
        submit_one(target=target, options={"plan": "jdbc.jmx"}, author=None, engine="jmeter")
