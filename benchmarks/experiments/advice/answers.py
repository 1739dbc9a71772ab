"""The answer that a sweep gives: the recommended size with its figures, and the limits of what was measured."""

from collections.abc import Sequence
from statistics import fmean

from django.conf import settings
from django.utils.translation import gettext as _

from benchmarks.experiments import resources
from benchmarks.experiments.advice import recommendation, recorded, sweep, through_entry
from benchmarks.experiments.advice.grid import Cell
from benchmarks.models import Experiment, ExperimentState
from benchmarks.models.advice import CellFigures, RecommendedSize
from benchmarks.models.summaries import Summary
from pools.inventory import budget
from pools.models import Pool


def of(experiment: Experiment) -> RecommendedSize | None:
    """Return the recommendation as the API answers it; None where nothing was measured, or no size was asked for."""
    expected = sweep.expected_clients(experiment)
    if expected is None:
        return None
    cells = sweep.measured_cells(experiment)
    recommended = recommendation.recommend(
        sweep.by_size(cells, expected), settings.TIE_BAND_PERCENT / 100, experiment.seed
    )
    if recommended is None:
        return None
    law = recommended.law
    return {
        "size": recommended.size,
        "reserve": recommended.reserve,
        "interval": list(recommended.interval),
        "knee": recommended.knee,
        "best": {"size": recommended.best[0], "tps": recommended.best[1]},
        "law": {"rate": law.rate, "contention": law.contention, "coherency": law.coherency} if law else None,
        "clients": expected,
        "cells": [_cell_figures(cell, runs) for cell, runs in sorted(cells.items()) if sweep.tps_of(runs)],
        "left_of_budget": _left_of_budget(experiment, recommended.size + recommended.reserve),
        "not_seen": limits(experiment),
    }


def _cell_figures(cell: Cell, runs: Sequence[Summary]) -> CellFigures:
    """Return a cell as the API answers it: means over its valid runs."""
    latencies = [latency_ms for run in runs if (latency_ms := run.get("latency_avg_ms"))]
    return {
        "size": cell[0],
        "clients": cell[1],
        "tps": fmean(sweep.tps_of(runs)),
        "latency_avg_ms": fmean(latencies) if latencies else None,
        "runs": len(runs),
    }


def _left_of_budget(experiment: Experiment, taken: int) -> int | None:
    """Return the connections left of the budget once the pool takes `taken` and the sweep's own pools are gone.

    None where the cluster was removed, its budget is unknown, or an entry was measured.
    """
    if experiment.cluster is None or sweep.is_of_entry(experiment):
        return None
    pool_id = experiment.advice.get("pool")
    pool = Pool.objects.filter(pk=pool_id).first() if pool_id else None
    free = budget.of_cluster(experiment.cluster, without=pool).free
    own = (
        Pool.objects.wanted()
        .select_related("pooler")
        .filter(cluster=experiment.cluster, made_for=resources.maker_of(experiment))
    )
    in_all = taken * (experiment.pooler.process_count if experiment.pooler else 1)
    return None if free is None else free + sum(map(budget.needed_by, own)) - in_all


def limits(experiment: Experiment) -> list[str]:
    """Return the limits of the answer, a sentence each: loads that the sweep did not measure."""
    return [
        *(through_entry.unseen(experiment.advice) if sweep.is_of_entry(experiment) else _other_clients(experiment)),
        *_blocks_left(experiment),
        _("The load of other pools and programs on this server while they are busy."),
        *_of_tables(experiment),
    ]


def _of_tables(experiment: Experiment) -> list[str]:
    """Return sentences on how the measured tables and transactions may differ from the application's own."""
    if kept := experiment.advice.get("recorded"):
        return list(recorded.in_words(kept))
    if scale := experiment.dataset.get("scale"):
        larger = _("Tables larger than those of the sweep (scale %(scale)s): production's may not fit its memory.")
        own = _("Your application's own transactions, unless the workload was a script of them.")
        return [larger % {"scale": scale}, own]
    return [_("Transactions of your application that the scripts do not have, or have in another proportion.")]


def _blocks_left(experiment: Experiment) -> list[str]:
    """Return a sentence on the blocks of two arms for which the minutes did not suffice."""
    block = len(experiment.plan[0])
    done, planned = experiment.step // block, len(experiment.plan)
    is_compared = experiment.state == ExperimentState.SUCCEEDED and sweep.expected_clients(experiment) is None
    if not is_compared or done == planned:
        return []
    text = _("%(done)s of %(planned)s blocks fitted the minutes: with more, the interval becomes narrower.")
    return [text % {"done": done, "planned": planned}]


def _other_clients(experiment: Experiment) -> list[str]:
    """Return a sentence on the numbers of clients for which the minutes did not suffice."""
    expected, rows = sweep.expected_clients(experiment), {clients for _size, clients in sweep.planned_cells(experiment)}
    if expected is None or max(rows) > expected:
        return []
    if len(rows) > 1:
        return [_("More clients than expected: the minutes were too few to measure them.")]
    return [_("Fewer and more clients than expected: the minutes were too few to measure them.")]
