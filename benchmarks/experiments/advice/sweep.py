"""The sweep behind "what size should this pool be?": a playbook made for the question, carried out as an experiment."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.experiments import dispatch, order, playbook, resources, results, start
from benchmarks.experiments.advice import definition, grid, pooling, through_entry, workload
from benchmarks.experiments.advice.grid import Cell, Grid
from benchmarks.experiments.advice.request import AdviceRequest
from benchmarks.experiments.advice.workload import EXISTING
from benchmarks.experiments.playbook import ArmSpec, EndpointTable
from benchmarks.experiments.start import InvalidExperiment
from benchmarks.models import Experiment
from benchmarks.models.advice import AdviceRecord, ExistingTables
from benchmarks.models.options import RunOptions
from benchmarks.models.summaries import Summary
from benchmarks.runs.submission import limits
from benchmarks.runs.submission.submit import require_queue
from benchmarks.targets import external
from pools.inventory import budget
from pools.models import Pooler, usual_kind
from pools.poolers import driver, kinds_that

CANDIDATES = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
MOST_SIZES = 7
MODES = ("session", "transaction")
SIZE, MODE, POOLING = "size", "mode", "pooling"
QUESTIONS = (SIZE, MODE, POOLING)
REPEATS = grid.BLOCKS * grid.ROUNDS  # each of the two arms of the other questions runs so often


def ask(request: AdviceRequest) -> Experiment:
    """Queue the sweep.

    Raises `InvalidExperiment`, `InvalidOptions`, `InvalidTarget`, `Refused`, `ClusterUnreachable` and `QueueDown`.
    """
    check(request)
    swept = _grid(request) if request.question == SIZE else None
    text = _definition(request, swept)
    spec = playbook.parse(text)
    arms = [arm for arm in spec.arms(quick=True) if swept is None or _cell(arm) in swept.cells]
    asked = _largest(arms) if request.entry else _expected(arms, request.load.clients)
    limits.check(request.author, request.cluster, {**asked.options, **request.load.dataset})
    existing = _login_to_existing(request)
    if request.cluster.protected and request.confirm != request.cluster.name:
        raise start.unconfirmed(request.cluster, start.changes(spec, arms, request.cluster, existing))
    require_queue()
    seed = uuid.uuid4().int % 2**31
    keys = [arm.key for arm in arms]
    plan = plan_of(arms, request.load.clients, seed) if swept else order.blocks(keys, REPEATS, seed)
    advice = _stored_question(request, swept)
    if existing:
        advice["existing"] = existing
    with transaction.atomic():
        if request.endpoint and request.is_new_login:
            external.keep(request.endpoint)
        experiment = Experiment.objects.enqueue(
            playbook=definition.NAME,
            definition=text,
            cluster=request.cluster,
            cluster_name=request.cluster.name,
            team_id=request.cluster.team_id,
            pooler=_pooler(request),
            repeats=len(plan),
            seed=seed,
            dataset=request.load.dataset,
            plan=plan,
            advice=advice,
            author=request.author,
        )
        if swept is None:
            resources.note_smaller_size(experiment, _wanted_size(request), _compared_size(request))
        transaction.on_commit(dispatch.request_advance)
    return experiment


def _expected(arms: Sequence[ArmSpec], clients: int) -> ArmSpec:
    return next(arm for arm in arms if arm.options["clients"] == clients)


def _largest(arms: Sequence[ArmSpec]) -> ArmSpec:
    return max(arms, key=lambda arm: arm.options["clients"] or 0)


def _login_to_existing(request: AdviceRequest) -> ExistingTables | None:
    """Return database and role of the tables to load where they exist already; else None."""
    if request.endpoint:
        return through_entry.login_of(request.endpoint)
    if request.load.tables != EXISTING:
        return None
    return workload.login_to_existing(request.cluster, request.pool, request.database, request.user)


def _stored_question(request: AdviceRequest, swept: Grid | None) -> AdviceRecord:
    """Return the question as the experiment stores it for later rounds and for the answer."""
    record: AdviceRecord = {
        "question": request.question,
        "pool": str(request.pool.pk) if request.pool else None,
        "round": 1,
        "minutes": request.minutes,
    }
    if request.question == POOLING:
        record["admitted"] = pooling.admitted(request.cluster)
    if swept:
        record |= {"rounds": swept.rounds, "clients": request.load.clients}
    if request.recorded and request.pool:
        record["recorded"] = request.recorded.as_json(request.pool)
    if request.entry and request.endpoint:
        record |= through_entry.as_json(request.entry, request.endpoint)
    return record


def plan_of(arms: Sequence[ArmSpec], expected: int, seed: int) -> list[list[str]]:
    """Return the blocks of a round of a sweep of sizes, by the keys of its arms."""
    return grid.blocks({_cell(arm): arm.key for arm in arms}, expected, seed)


def _cell(arm: ArmSpec) -> Cell:
    return int(arm.values["size"]), int(arm.values.get("clients") or arm.options["clients"] or 0)


def expected_clients(experiment: Experiment) -> int | None:
    """Return the number of clients that the recommendation is made for; None where no size was asked for."""
    if experiment.advice.get("question") != SIZE:
        return None
    return int(experiment.advice.get("clients") or _cell(start.arms_of(experiment)[0])[1])


def is_of_entry(experiment: Experiment) -> bool:
    """Return whether it measures through an entry that is not managed here."""
    return "entry" in experiment.advice


def add_round(experiment: Experiment) -> bool:
    """Plan the next round with the better half of the cells; False after the last one, or where the time is short."""
    advice, expected = experiment.advice, expected_clients(experiment)
    if expected is None or advice["round"] >= advice.get("rounds", grid.ROUNDS):
        return False
    kept = grid.survivors(_cells_of_round(experiment), expected)
    if not _has_time(experiment, grid.runs_of(kept, expected, 1)):
        return False
    arms = [arm for arm in start.arms_of(experiment) if _cell(arm) in kept]
    plan = [*experiment.plan, *plan_of(arms, expected, experiment.seed + advice["round"])]
    advice = {**advice, "round": advice["round"] + 1, "cells": kept}
    experiment.write(plan=plan, repeats=len(plan), advice=advice)
    return True


def is_out_of_time(experiment: Experiment) -> bool:
    """Return whether its minutes are spent, and each cell has been measured once.

    Two arms are compared in whole blocks: they end where the next block would not fit.
    """
    step, block = experiment.step, len(experiment.plan[0])
    if expected_clients(experiment) is None:
        is_between = step > 0 and step % block == 0 and not experiment.is_still_asked_for
        return is_between and not _has_time(experiment, block)
    return step >= block and not _has_time(experiment, 0)


def _has_time(experiment: Experiment, runs: int) -> bool:
    """Return whether the minutes left are enough for so many more runs as long as those before, and for the removal."""
    began, measuring_at = experiment.started_at, experiment.measuring_at
    if "minutes" not in experiment.advice or began is None or measuring_at is None:
        return True
    each = (timezone.now() - measuring_at) / max(1, experiment.step)
    ending = timedelta(seconds=grid.ENDING_S)
    return timezone.now() - began + runs * each + ending < timedelta(minutes=experiment.advice["minutes"])


def _cells_of_round(experiment: Experiment) -> dict[Cell, list[float]]:
    """Return the valid throughputs of the cells of this round."""
    kept = [tuple(cell) for cell in experiment.advice.get("cells", [])]
    return {cell: tps_of(runs) for cell, runs in measured_cells(experiment).items() if not kept or cell in kept}


def planned_cells(experiment: Experiment) -> list[Cell]:
    """Return the cells that the sweep set out to measure; none where no size was asked for."""
    is_swept = expected_clients(experiment) is not None
    return [_cell(arm) for arm in start.arms_of(experiment)] if is_swept else []


def tps_of(runs: Sequence[Summary]) -> list[float]:
    """Return the throughputs of runs, without those that have none."""
    return [tps for run in runs if (tps := run.get("tps"))]


def measured_cells(experiment: Experiment) -> dict[Cell, list[Summary]]:
    """Return the summaries of the valid runs by cell; none for a cell whose runs all failed."""
    measured_arms = ((one.spec, one.arm) for one in results.of(experiment).arms if not one.skipped)
    return {_cell(spec): [run.summary for run in arm.valid] for spec, arm in measured_arms if arm}


def measured(experiment: Experiment) -> dict[int, list[float]]:
    """Return the valid throughputs by size with the expected number of clients."""
    return by_size(measured_cells(experiment), expected_clients(experiment))


def by_size(cells: Mapping[Cell, Sequence[Summary]], expected: int | None) -> dict[int, list[float]]:
    """Return the valid throughputs by size, of the cells with that number of clients."""
    return {size: tps_of(runs) for (size, clients), runs in cells.items() if clients == expected}


def _made_scale(request: AdviceRequest) -> int:
    """Return the scale of the tables that have to be made first; 0 where they exist."""
    return request.load.dataset.get("scale", 0)


def sizes(request: AdviceRequest) -> list[int]:
    """Return the sizes to sweep: within what clients can use, the pool's own among them.

    The budget has to hold all of their pools at once: a pool that it cut short would be measured under a wrong name.
    """
    clients, free = request.load.clients, _free(request)
    most = min(clients, free if free is not None else clients)
    candidates = [size for size in CANDIDATES if size <= most]
    while len(candidates) > MOST_SIZES:
        candidates = candidates[:1] + candidates[1:-1][::2] + candidates[-1:]
    own = {request.pool.size} if request.pool and request.pool.size <= most else set()
    swept = sorted({*candidates, *own})
    return swept if free is None else grid.within_budget(swept, free, next(iter(own), None))


def _free(request: AdviceRequest) -> int | None:
    """Return the connections that the budget leaves for each process of the pooler; None where it is unknown."""
    free, pooler = budget.of_cluster(request.cluster).free, _pooler(request)
    return free // pooler.process_count if free is not None and pooler else free


def _pooler(request: AdviceRequest) -> Pooler | None:
    measured = request.pool or request.entry
    return measured.pooler if measured else request.pooler


def _grid(request: AdviceRequest) -> Grid:
    """Return the cells to measure; raises `InvalidExperiment` where the budget leaves fewer than two sizes."""
    if request.entry:
        return through_entry.swept(request.entry, CANDIDATES, MOST_SIZES, request.load.clients, request.minutes)
    candidates = sizes(request)
    if len(candidates) < 2:
        message = _("the budget of %(cluster)s leaves too few connections to compare sizes: free some first")
        raise InvalidExperiment({"cluster": [message % {"cluster": request.cluster}]})
    return grid.fitted(candidates, request.load.clients, request.minutes, _made_scale(request))


def _definition(request: AdviceRequest, swept: Grid | None) -> str:
    """Return the playbook of the question as TOML."""
    load, title, minutes = request.load, _title(request), request.minutes
    arms = pooling.arms_of(minutes) if request.question == POOLING else len(MODES)
    duration = swept.duration_s if swept else grid.duration_s(minutes, _made_scale(request), arms * REPEATS)
    options: RunOptions = {
        **load.options,
        "clients": load.clients,
        "duration": duration,
        "warm_up": grid.WARM_UP_S,
    }
    if swept and request.entry:
        return definition.of_busy_connections(title, options, [size for size, _clients in swept.cells], load.clients)
    if swept:
        return definition.of_sizes(title, options, swept.cells, _kind(request), _mode(request))
    size = _compared_size(request)
    if request.question == MODE:
        return definition.of_modes(title, options, MODES, _kind(request), size)
    clients = pooling.clients_of(request.cluster, request.author, options, minutes)
    pooled = EndpointTable(kind=_kind(request), size=size, mode=_mode(request))
    return definition.of_pooling(title, options, pooled, clients)


def _kind(request: AdviceRequest) -> str:
    """Return the kind of the pooler that the pools are made on; where none is named, one that sizes them."""
    pooler, kinds = _pooler(request), kinds_that("sizes_each_pool")
    return pooler.kind if pooler and pooler.kind in kinds else next(iter(kinds), usual_kind())


def _mode(request: AdviceRequest) -> str:
    return request.pool.mode if request.pool else "transaction"


def _wanted_size(request: AdviceRequest) -> int:
    return request.pool.size if request.pool else min(request.load.clients, CANDIDATES[-1])


def _compared_size(request: AdviceRequest) -> int:
    """Return the size of the pools of the other questions: of two modes both have to fit the budget, or neither."""
    wanted, free = _wanted_size(request), _free(request)
    pools = len(MODES) if request.question == MODE else 1
    size = wanted if free is None else min(wanted, free // pools)
    if size < 1:
        message = _("the budget of %(cluster)s leaves no connection for a pool to measure: free some first")
        raise InvalidExperiment({"cluster": [message % {"cluster": request.cluster}]})
    return size


def _title(request: AdviceRequest) -> str:
    values = {"pool": request.pool or request.entry or request.cluster}
    return {
        SIZE: _("What size should the pool %(pool)s have?"),
        MODE: _("Which mode suits the pool %(pool)s?"),
        POOLING: _("Direct or pooled: what is %(pool)s worth?"),
    }[request.question] % values


def check(request: AdviceRequest) -> None:
    """Raise `InvalidExperiment` where the question can't be asked of this pool, or by no such load."""
    if request.question not in QUESTIONS:
        known = ", ".join(QUESTIONS)
        raise InvalidExperiment({"question": [_("use one of %(known)s") % {"known": known}]})
    if request.entry is not None:
        through_entry.check(request.entry)
        if request.question != SIZE:
            message = _("only the size of an entry is measured: run a load through it to compare it with the server")
            raise InvalidExperiment({"question": [message]})
    if request.pool is not None and not driver(request.pool.pooler).sizes_each_pool:
        raise InvalidExperiment({"pool": [_("sizes are swept on a PgBouncer: choose a pool on one")]})
