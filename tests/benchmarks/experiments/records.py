"""Experiments for tests, as workers would have left them."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy

from benchmarks.experiments import library, order
from benchmarks.models import Experiment, ExperimentState, Phase, Run, RunOutput, Status, Validity
from tests.benchmarks.records import a_finished_run
from tests.pools.records import a_cluster

NOWHERE = gettext_lazy("no generator is alive")  # why arms of another host are not measured
REFUSAL = 'pgbench: error: connection to server at "db7" failed: FATAL:  sorry, too many clients already\n'


def an_experiment(playbook: str = "reconnect", **fields: Any) -> Experiment:
    """An experiment that is queued unless told, its plan drawn."""
    spec = library.find(playbook)
    arms = [arm.key for arm in spec.arms(quick=True)]
    cluster = fields.pop("cluster", None) or a_cluster()
    values = {"definition": spec.text, "cluster": cluster, "cluster_name": cluster.name, "repeats": 3, "seed": 1}
    values |= {"skipped": {arm.key: str(NOWHERE) for arm in spec.arms(quick=True) if arm.other_host}}
    return Experiment.objects.enqueue(**values | {"playbook": playbook, "plan": order.blocks(arms, 3, 1)} | fields)


def a_measured_experiment(figures: Mapping[str, Any], playbook: str = "reconnect", **fields: Any) -> Experiment:
    """One that has ended; `figures` by arm: the tps of each of its runs, or None for a run that was refused."""
    ended = {"state": ExperimentState.SUCCEEDED, "phase": Phase.TEARDOWN, "outcome": ExperimentState.SUCCEEDED}
    experiment = an_experiment(playbook, **ended | fields)
    spec = library.spec_of(experiment)
    arms = {arm.key: arm for arm in spec.arms(quick=True)}
    for block in range(max(map(len, figures.values()))):
        for key, values in figures.items():
            _a_run(experiment, key, values[block], arms[key].options)
    return experiment


def _a_run(experiment: Experiment, arm: str, tps: float | None, options: Mapping[str, Any]) -> Run:
    fields = {"experiment": experiment, "arm": arm, "group": experiment.pk, "cluster": experiment.cluster}
    fields |= {"options": dict(options), "target_label": arm}
    if tps is not None:
        summary = {"tps": tps, "latency_avg_ms": 1000 / tps, "average_connection_ms": 5.0}
        return a_finished_run(0, summary=summary, **fields)
    failed = {"status": Status.FAILED, "validity": Validity.INCOMPLETE, "summary": {}, "error": "connection failed"}
    run = a_finished_run(0, **fields | failed)
    RunOutput.objects.filter(run=run).update(stderr=REFUSAL)
    return run
