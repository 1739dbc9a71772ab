"""The playbook idle-tax on a server that is short of memory: there 1,000 idle connections cost a direct load.

The server may use 2,400 MB, page cache included. Its tables and indexes have 1,350 MB, which fit; beside 1,000 idle
connections of 1.5 MB each, 900 MB are left for them. With memory to spare the same connections cost nothing that a run
of seconds shows (`test_idle_tax`).
"""

import os
from collections.abc import Iterator

import pytest

from benchmarks.analysis.arms import Verdict
from benchmarks.experiments import conclusions
from benchmarks.experiments.results import Result
from panel.quickstart.servers import PostgresServer, free_port
from tests import memory_limits
from tests.live.benchmarks.experiments.conftest import CarryOut, had_the_host
from tests.live.benchmarks.experiments.test_idle_tax import beside_1000
from tests.live.conftest import FAST, SUPERUSER_PASSWORD

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.timing,
    pytest.mark.timeout(700),
]
LIMIT = 2_400_000_000
SCALE = 80
LONG_ENOUGH = {"duration": 6, "warm_up": 8}  # to read all tables into the page cache


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A PostgreSQL that takes 1,200 connections, in a cgroup that limits its memory."""
    name = f"pooldeck-test-{os.getpid()}"
    home = tmp_path_factory.mktemp("postgres-limited")
    settings = FAST | {"max_connections": "1200"}
    try:
        with PostgresServer(home, free_port(), password=SUPERUSER_PASSWORD, settings=settings) as server:
            pid = int((server.cluster_folder / "postmaster.pid").read_text().split()[0])
            memory_limits.limit(name, pid, LIMIT)
            yield server
    finally:
        memory_limits.remove(name)


def carried_out(carry_out: CarryOut, endpoint: str) -> Result:
    arms = [f"select-{endpoint}-0", f"select-{endpoint}-1000"]
    return carry_out("idle-tax", arms=arms, options=LONG_ENOUGH, dataset={"scale": SCALE}, repeats=3, within_s=600)


def test_1000_idle_connections_cost_a_direct_load(carry_out: CarryOut) -> None:
    found = carried_out(carry_out, "direct")
    one = beside_1000(found)
    assert one.figure is not None
    assert one.figure.ratio is not None
    assert one.figure.ratio < 0.95
    if had_the_host(found):
        assert one.verdict == Verdict.SLOWER
    assert any("1,000 idle connections held" in note for note in conclusions.notes(found))


def test_1000_idle_clients_of_a_pool_cost_nothing(carry_out: CarryOut) -> None:
    one = beside_1000(carried_out(carry_out, "pool20"))
    assert one.verdict == Verdict.NO_DIFFERENCE
