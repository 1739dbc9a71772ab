"""The playbook idle-tax on a server of its own: what 1,000 idle connections cost, directly and through a pool."""

from collections.abc import Iterator

import pytest

from benchmarks.analysis.arms import Verdict
from benchmarks.experiments.results import ArmResult, Result
from panel.quickstart.servers import PostgresServer, free_port
from tests.live.benchmarks.experiments.conftest import CarryOut
from tests.live.conftest import FAST, SUPERUSER_PASSWORD

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timing]
SHORT = {"duration": 5, "warm_up": 1, "clients": 4}  # few clients: on a busy machine 20 logins take a second


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A PostgreSQL that takes 1,200 connections."""
    home = tmp_path_factory.mktemp("postgres-1200")
    settings = FAST | {"max_connections": "1200"}
    with PostgresServer(home, free_port(), password=SUPERUSER_PASSWORD, settings=settings) as server:
        yield server


def beside_1000(found: Result) -> ArmResult:
    """Return the arm with idle connections, all of whose runs held 1,000; nothing else was changed or is left."""
    assert (found.experiment.server_settings, found.experiment.notes) == ({}, [])  # this server has enough
    assert found.experiment.resources.filter(removed_at=None).count() == 0
    (one,) = (arm for arm in found.arms if arm.spec.values["idle"] == "1000")
    held = [run.conditions["idle"] for run in found.runs if run.arm == one.spec.key]
    assert [idle["connections"] for idle in held] == [1000] * 3
    return one


def test_idle_clients_cost_nothing_through_a_pool(carry_out: CarryOut) -> None:
    found = carry_out("idle-tax", arms=["select-pool20-0", "select-pool20-1000"], options=SHORT, repeats=3)
    one = beside_1000(found)
    assert one.verdict == Verdict.NO_DIFFERENCE


def test_direct_idle_connections_are_measured_and_judged(carry_out: CarryOut) -> None:
    found = carry_out("idle-tax", arms=["select-direct-0", "select-direct-1000"], options=SHORT, repeats=3)
    one = beside_1000(found)
    # since PostgreSQL 14 a snapshot costs the same beside any number of them: the sign is the machine's
    assert one.verdict in (Verdict.NO_DIFFERENCE, Verdict.SLOWER, Verdict.FASTER)
    assert one.figure is not None
    assert one.figure.interval is not None
