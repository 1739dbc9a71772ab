"""Whole runs with everything around them watched, and what is kept of it."""

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.models import Observation, ObservationKind, Run, Status
from benchmarks.runs.observers import probes
from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools.models import Pool, Pooler
from tests.live.benchmarks.conftest import HOLDING, Submit, execute

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("in_this_process"),
]


def observations_of(run: Run, kind: ObservationKind) -> list[dict[str, Any]]:
    """The figures of all looks of a kind, in order."""
    return [observe.figures for observe in run.observations.filter(kind=kind)]


@pytest.fixture
def sleeper(postgres: PostgresServer, bench: str) -> Iterator[None]:
    """A session that is active and waits throughout: those of a load may be between two statements at every look."""
    session = postgres.connect(bench)
    session.pgconn.send_query(b"SELECT pg_sleep(60)")
    yield
    session.cancel()
    session.close()


@pytest.mark.usefixtures("sleeper")
def test_a_pooled_run_keeps_what_pooler_server_host_and_generator_did(pool: Pool, submit: Submit) -> None:
    run = execute(submit(pool, clients=8, threads=2, duration=7, **HOLDING))
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    pooler, server, host, generator = (observations_of(run, kind) for kind in ObservationKind)
    assert max(figures["wait_ms"] or 0 for figures in pooler) > 0
    assert max(figures["transactions_per_s"] or 0 for figures in pooler) > 10
    assert any(figures.get("commits_per_s") for figures in server)
    assert all(figures["states"]["active"] >= 1 and figures["waits"]["Timeout:PgSleep"] == 1 for figures in server)
    assert max(sum(figures["states"].values()) for figures in server) >= 3  # the sleeper, and the pool's two
    assert all(0 <= figures["cpu_percent"] <= 100 and figures["memory_available_bytes"] > 0 for figures in host)
    assert max(figures["cpu_percent"] for figures in generator) > 0
    assert max(figures["pooler_cpu_percent"] for figures in generator) > 0
    assert min(len(host), len(generator), len(server)) >= 4


def test_the_means_of_a_run_and_its_ping_stand_among_its_conditions(pool: Pool, submit: Submit) -> None:
    run = execute(submit(pool, clients=8, threads=2, duration=5, **HOLDING))
    ping, meanwhile = run.conditions["ping"], run.conditions["meanwhile"]
    assert 0 < ping["min_ms"] <= ping["avg_ms"] <= ping["max_ms"] < 1000
    assert ping["connect_ms"] > ping["min_ms"]
    assert min(meanwhile["queue_ms"], meanwhile["service_ms"]) > 0  # eight clients share two connections
    assert meanwhile["queue_ms"] + meanwhile["service_ms"] < 1.2 * run.summary["latency_avg_ms"]
    assert 0 < meanwhile["busy_percent"] <= 100


def test_a_direct_run_has_neither_pool_nor_queue(submit: Submit) -> None:
    run = execute(submit(duration=3))
    assert set(Observation.objects.filter(run=run).values_list("kind", flat=True)) == {
        ObservationKind.SERVER,
        ObservationKind.HOST,
        ObservationKind.GENERATOR,
    }
    assert not {"queue_ms", "service_ms", "pooler_cpu_percent"} & set(run.conditions["meanwhile"])


def test_looks_share_the_ids_of_a_runs_events(submit: Submit) -> None:
    run = execute(submit(duration=3))
    seqs = [*run.observations.values_list("seq", flat=True), *run.samples.values_list("seq", flat=True)]
    assert len(seqs) == len(set(seqs))
    assert [observe.t for observe in run.observations.filter(kind=ObservationKind.HOST)] == sorted(
        observe.t for observe in run.observations.filter(kind=ObservationKind.HOST)
    )


def test_a_pgbouncer_of_this_host_is_found_by_the_socket_it_listens_on(
    pooler: Pooler, pgbouncer: PgBouncerServer
) -> None:
    assert probes.pooler_processes(pooler) == (pgbouncer.process.pid,)


def test_another_port_is_no_pgbouncers(pooler: Pooler) -> None:
    pooler.port += 1
    assert probes.pooler_processes(pooler) == ()
