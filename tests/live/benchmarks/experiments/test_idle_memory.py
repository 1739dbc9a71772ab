"""Where the cost of idle connections comes from: memory that the page cache of a full server then lacks.

The server may use 1,900 MB, its tables and indexes have 1,350 MB, and 60 sessions that have read the catalogue hold
1,000 MB. With memory to spare the same sessions cost nothing that a run of seconds shows (`test_idle_tax`).
"""

import os
from collections.abc import Iterator

import pytest

from benchmarks.analysis.arms import Verdict
from benchmarks.experiments import conclusions, library
from benchmarks.experiments.results import Result
from panel.quickstart.servers import PostgresServer, free_port
from tests import memory_limits
from tests.live.benchmarks.experiments.conftest import CarryOut, had_the_host
from tests.live.conftest import FAST, SUPERUSER_PASSWORD

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.timing,
    pytest.mark.timeout(700),
]
LIMIT = 1_900_000_000
SCALE = 80
PLAYBOOK = """
name = "idle-memory"
title = "Idle connections where memory is short"
engine = "pgbench"
conclusion = "idle-tax"
baseline = { idle = "0" }
metrics = ["tps"]

[options]
builtin = "select-only"
clients = 20
threads = 2
warm_up = 8

[[axes.endpoint]]
key = "direct"
endpoint = { kind = "direct" }

[[axes.endpoint]]
key = "pool20"
endpoint = { kind = "pgbouncer", mode = "transaction", size = 20 }

[[axes.idle]]
key = "0"

[[axes.idle]]
key = "60"
options = { idle_connections = 60 }

[quick]
repeats = 3
options = { duration = 6 }

[published_scale]
repeats = 3
"""


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A PostgreSQL in a cgroup that limits its memory, page cache included."""
    name = f"pooldeck-test-{os.getpid()}"
    home = tmp_path_factory.mktemp("postgres-limited")
    settings = FAST | {"max_connections": "200", "jit": "off"}
    try:
        with PostgresServer(home, free_port(), password=SUPERUSER_PASSWORD, settings=settings) as server:
            pid = int((server.cluster_folder / "postmaster.pid").read_text().split()[0])
            memory_limits.limit(name, pid, LIMIT)
            yield server
    finally:
        memory_limits.remove(name)


def beside_60(carry_out: CarryOut, endpoint: str) -> Result:
    library.add(PLAYBOOK)
    return carry_out(
        "idle-memory", arms=[f"{endpoint}-0", f"{endpoint}-60"], options={}, dataset={"scale": SCALE}, within_s=600
    )


def test_idle_sessions_that_read_the_catalogue_cost_a_direct_load(carry_out: CarryOut) -> None:
    found = beside_60(carry_out, "direct")
    one = found.arm(idle="60")
    assert one is not None
    assert one.figure is not None
    assert one.figure.ratio is not None
    assert one.figure.ratio < 0.95
    if had_the_host(found):
        assert one.verdict == Verdict.SLOWER
    assert any("60 idle connections held" in note for note in conclusions.notes(found))


def test_through_a_pool_they_cost_nothing(carry_out: CarryOut) -> None:
    found = beside_60(carry_out, "pool20")
    one = found.arm(idle="60")
    assert one is not None
    assert one.verdict == Verdict.NO_DIFFERENCE
