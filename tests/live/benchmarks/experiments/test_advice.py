"""Advice on a pool's size on real servers, in as short a sweep as there is."""

import re

import pytest
from django.conf import settings

from benchmarks.experiments import resources, results
from benchmarks.experiments.advice import grid, sweep
from benchmarks.experiments.advice.request import AdviceRequest
from benchmarks.experiments.report import presentation
from benchmarks.models import Dataset, ExperimentState, Purpose, ResourceKind
from panel.quickstart.servers import PostgresServer
from pools.models import Cluster, Pool
from tests.live.benchmarks.experiments.conftest import at_a_rate, until_ended

pytestmark = pytest.mark.django_db(transaction=True)
SCALED = "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;"
WRITING = "INSERT INTO advised VALUES (:client_id);"


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("tables", ["own", "existing"])
def test_scripts_are_measured_on_tables_of_the_sweep_and_on_those_of_the_pool(
    checked: Cluster, pool: Pool, postgres: PostgresServer, author: object, monkeypatch: pytest.MonkeyPatch, tables: str
) -> None:
    monkeypatch.setattr(sweep, "REPEATS", 1)
    monkeypatch.setattr(grid, "MOST_S", 2)
    with postgres.connect(pool.database) as session:
        session.execute(f"CREATE TABLE IF NOT EXISTS advised (client int); ALTER TABLE advised OWNER TO {pool.user}")
        session.execute("TRUNCATE advised")
    script = {"own": SCALED, "existing": WRITING}[tables]
    workload = {"scripts": [{"text": script}, {"text": "SELECT 1;"}], "tables": tables, "clients": 2, "scale": 1}
    request = AdviceRequest(cluster=checked, pool=pool, author=author, workload=workload, question="pooling")
    experiment = until_ended(at_a_rate(sweep.ask(request)))
    assert experiment.state == ExperimentState.SUCCEEDED, experiment.reasons
    runs = list(experiment.runs.filter(purpose=Purpose.LOAD))
    print([(run.arm, run.status, run.reasons, run.summary.get("tps")) for run in runs], experiment.skipped)
    both = {f"{way}-{to}" for way in ("kept", "reconnecting") for to in ("direct", "pooled")}
    assert {run.arm for run in runs} == both | {"crowd-pooled"}
    conclusion = presentation.conclusion(results.of(experiment))
    print(conclusion)
    crowd = next(run for run in runs if run.arm == "crowd-pooled")
    assert crowd.options["clients"] == 97 + 9  # The server has 100 connections.
    assert "Directly, the server lets in 97 clients and refuses more" in conclusion
    assert re.search("The pool served 2 clients with [12] server connections? at most", conclusion)
    runs.remove(crowd)
    assert all(run.summary["tps"] > 0 and run.summary["failed"] == 0 for run in runs)
    assert all(run.conditions["warm_up"]["tps"] > 0 for run in runs)
    assert {run.database for run in runs} == {resources.database_of(experiment)}
    made = {row.kind for row in experiment.resources.all()}
    assert (made == {ResourceKind.POOL}) == (tables == "existing")
    with postgres.connect(pool.database) as session:
        written = session.execute("SELECT count(*) FROM advised").fetchone()
        assert written is not None
        assert (written[0] > 0) == (tables == "existing")
        session.execute("DROP TABLE advised")
    assert list(Pool.objects.values_list("name", flat=True)) == [pool.name]


@pytest.mark.slow
@pytest.mark.usefixtures("worker")
def test_no_swept_size_beats_the_recommended_one_by_more_than_the_tie_band(
    checked: Cluster, author: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "CANDIDATES", (1, 2, 8))
    monkeypatch.setattr(grid, "WANTED_S", 2)  # else one minute is not enough for more clients than expected
    monkeypatch.setattr(grid, "FRAME_S", 10)
    workload = {"builtin": "select-only", "scale": 1, "clients": 8}
    experiment = until_ended(sweep.ask(AdviceRequest(cluster=checked, author=author, workload=workload, minutes=1)))
    runs = experiment.runs.filter(purpose=Purpose.LOAD)
    print(experiment.plan, [(run.arm, run.summary.get("tps"), run.finished_at - run.created_at) for run in runs])
    assert experiment.state == ExperimentState.SUCCEEDED, experiment.reasons
    found = experiment.advice["recommendation"]
    low, high = found["interval"]
    assert low <= found["size"] <= high
    assert found["reserve"] >= 1
    assert found["left_of_budget"] == 97 - found["size"] - found["reserve"]
    swept = {(size, clients) for size in (1, 2, 8) for clients in (2, 8, 16) if size <= clients}
    assert set(sweep.planned_cells(experiment)) == swept
    # on a busy machine the logins of a short run may take too long for it to be valid
    assert (found["size"], 8) in {(cell["size"], cell["clients"]) for cell in found["cells"]} <= swept
    means = {size: sum(values) / len(values) for size, values in sweep.measured(experiment).items()}
    band = 1 - settings.TIE_BAND_PERCENT / 100
    # the law smooths the means that the size is chosen by: half a band for that
    assert means[found["size"]] >= max(means.values()) * band * (1 - settings.TIE_BAND_PERCENT / 200)
    assert experiment.resources.filter(removed_at=None).count() == 0
    assert not Dataset.objects.exists()
