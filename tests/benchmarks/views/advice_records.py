"""A sweep of sizes and its pool, as the tests of advice need them."""

from benchmarks.experiments.advice import answers, sweep
from benchmarks.experiments.advice.request import AdviceRequest
from benchmarks.models import (
    Experiment,
    ExperimentState,
    Phase,
)
from pools.models import Pool
from tests.benchmarks.records import a_finished_run
from tests.pools import records
from tests.pools.records import a_cluster

ASKED = {"question": "size", "builtin": "tpcb-like", "clients": 8, "scale": 1, "minutes": 5, "tables": "own"}
FIGURES = {1: [100, 101], 2: [180, 178], 4: [260, 261], 8: [262, 263]}
OTHERS = {"2-1": 90.5, "2-2": 95.0, "16-4": 240.0}  # clients and size


def a_pool(**fields: object) -> Pool:
    """A pool of a cluster that needs no typed confirmation."""
    return records.a_pool(cluster=a_cluster(protected=False), **fields)


def an_advice(pool: Pool) -> Experiment:
    """A sweep of sizes that has ended with its recommendation."""
    request = AdviceRequest(cluster=pool.cluster, pool=pool, author=None, workload={"clients": 8, "scale": 1})
    experiment = sweep.ask(request)
    for block in range(2):
        for size, values in FIGURES.items():
            summary = {"tps": values[block], "latency_avg_ms": 8000 / values[block]}
            a_measured_cell(experiment, f"8-{size}", summary)
    for arm, tps in OTHERS.items():
        a_measured_cell(experiment, arm, {"tps": tps, "latency_avg_ms": 10.0})
    ended = {"state": ExperimentState.SUCCEEDED, "outcome": ExperimentState.SUCCEEDED, "phase": Phase.TEARDOWN}
    experiment.write(advice=experiment.advice | {"recommendation": answers.of(experiment)}, **ended)
    return experiment


def a_measured_cell(experiment: Experiment, arm: str, summary: dict[str, float]) -> None:
    """A valid run of a cell."""
    fields = {"experiment": experiment, "arm": arm, "group": experiment.pk, "target_label": arm}
    a_finished_run(0, summary=summary, cluster=experiment.cluster, options={"clients": 8}, **fields)
