"""The sweep behind "what size should this pool be?": a playbook made for the question, carried out as an experiment."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from benchmarks.errors import Refused
from benchmarks.experiments import dispatch, order, playbook, results, start
from benchmarks.experiments.advice import recommendation
from benchmarks.experiments.start import InvalidExperiment
from benchmarks.models import Experiment, Purpose
from benchmarks.runs.submission import options as load_options
from benchmarks.runs.submission.submit import require_queue
from pools.inventory import budget
from pools.models import Cluster, Pool, Pooler, PoolerKind

NAME = "pool-size"
CANDIDATES = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
MOST_SIZES = 7
ROUNDS, BLOCKS = 3, 2
MODES = ("session", "transaction")
SIZE, MODE, POOLING = "size", "mode", "pooling"
QUESTIONS = (SIZE, MODE, POOLING)
LEAST_S, MOST_S = 2, 120
SET_UP_S = 1.5  # of a run, beside its load
DEFAULT_WORKLOAD = {"builtin": "tpcb-like", "scale": 10}
DEFAULT_CLIENTS = 32


@dataclass(frozen=True, kw_only=True)
class AdviceRequest:
    """What is asked, for which pool, or for a cluster where there is none yet.

    `workload` holds options of pgbench and the `scale` of the tables; `minutes` is the time to spend in all.
    """

    cluster: Cluster
    author: Any
    pool: Pool | None = None
    pooler: Pooler | None = None
    question: str = SIZE
    workload: Mapping[str, Any] = field(default_factory=dict)
    minutes: int = 5
    confirm: str = ""


def ask(request: AdviceRequest) -> Experiment:
    """Queue the sweep; raises `InvalidExperiment`, `InvalidOptions`, `Refused` and `QueueDown`."""
    check(request)
    text = _toml(request)
    spec = playbook.parse(text)
    arms = spec.arms(quick=True)
    if request.cluster.protected and request.confirm != request.cluster.name:
        raise Refused(start.protected(request.cluster, start.changes(spec, arms, request.cluster)))
    load_options.validate("pgbench", dict(arms[0].options), purpose=Purpose.LOAD)
    require_queue()
    keys = [arm.key for arm in arms]
    seed = uuid.uuid4().int % 2**31
    blocks = BLOCKS if request.question == SIZE else BLOCKS * ROUNDS
    with transaction.atomic():
        experiment = Experiment.objects.enqueue(
            playbook=NAME,
            definition=text,
            cluster=request.cluster,
            cluster_name=request.cluster.name,
            pooler=request.pooler or (request.pool.pooler if request.pool else None),
            repeats=blocks,
            seed=seed,
            dataset={"scale": _workload(request)["scale"]},
            plan=order.blocks(keys, blocks, seed),
            advice={"question": request.question, "pool": str(request.pool.pk) if request.pool else None, "round": 1},
            author=request.author,
        )
        transaction.on_commit(dispatch.request_advance)
    return experiment


def add_round(experiment: Experiment) -> bool:
    """Plan the next round with the better half of the sizes; False after the last one."""
    advice = experiment.advice
    if advice.get("question") != SIZE or advice.get("round", ROUNDS) >= ROUNDS:
        return False
    kept = recommendation.survivors(measured(experiment, advice["round"]))
    keys = [one.spec.key for one in results.of(experiment).arms if int(one.spec.values["size"]) in kept]
    plan = [*experiment.plan, *order.blocks(keys, BLOCKS, experiment.seed + advice["round"])]
    experiment.write(plan=plan, advice=advice | {"round": advice["round"] + 1, "kept": kept})
    return True


def measured(experiment: Experiment, in_round: int | None = None) -> dict[int, list[float]]:
    """Return the valid throughputs by size; of the sizes that took part in this round only, where one is given."""
    found = {
        int(one.spec.values["size"]): [run.summary["tps"] for run in one.arm.valid if run.summary.get("tps")]
        for one in results.of(experiment).arms
        if one.arm and not one.skipped
    }
    kept = experiment.advice.get("kept") if in_round and in_round > 1 else None
    return {size: values for size, values in found.items() if kept is None or size in kept}


def answer(experiment: Experiment) -> dict[str, Any] | None:
    """Return the recommendation as the API answers it; None where nothing was measured, or no size was asked for."""
    if experiment.advice.get("question") != SIZE:
        return None
    found = recommendation.recommend(measured(experiment), settings.TIE_BAND_PERCENT / 100, experiment.seed)
    if found is None:
        return None
    law = found.law
    return {
        "size": found.size,
        "reserve": found.reserve,
        "interval": list(found.interval),
        "knee": found.knee,
        "best": {"size": found.best[0], "tps": found.best[1]},
        "law": {"rate": law.rate, "contention": law.contention, "coherency": law.coherency} if law else None,
        "left_of_budget": _left_of_budget(experiment, found.size + found.reserve),
        "not_seen": unseen(experiment),
    }


def unseen(experiment: Experiment) -> list[str]:
    """Return what the sweep could not see, in sentences."""
    scale = experiment.dataset.get("scale")
    return [
        _("The load of other pools and programs on this server while they are busy."),
        _("Tables larger than those of the sweep (scale %(scale)s): production's may not fit its memory.")
        % {"scale": scale},
        _("Your application's own transactions, unless the workload was a script of them."),
    ]


def _left_of_budget(experiment: Experiment, taken: int) -> int | None:
    if experiment.cluster is None:
        return None
    pool = Pool.objects.filter(pk=experiment.advice.get("pool")).first() if experiment.advice.get("pool") else None
    free = budget.of_cluster(experiment.cluster, without=pool).free
    return None if free is None else free - taken


def _workload(request: AdviceRequest) -> dict[str, Any]:
    return DEFAULT_WORKLOAD | {"clients": DEFAULT_CLIENTS} | dict(request.workload)


def sizes(request: AdviceRequest, clients: int) -> list[int]:
    """Return the sizes to sweep: within what clients can use and the budget has left, the pool's own among them."""
    free = budget.of_cluster(request.cluster).free
    most = min(clients, free if free is not None else clients)
    found = [size for size in CANDIDATES if size <= most]
    while len(found) > MOST_SIZES:
        found = found[:1] + found[1:-1][::2] + found[-1:]
    own = {request.pool.size} if request.pool and request.pool.size <= most else set()
    return sorted({*found, *own})


def _toml(request: AdviceRequest) -> str:
    """Write the playbook of the question."""
    workload = _workload(request)
    clients = int(workload.pop("clients"))
    workload.pop("scale")
    mode = request.pool.mode if request.pool else "transaction"
    size = request.pool.size if request.pool else max(sizes(request, clients)[-1:] or [1])
    if request.question == SIZE:
        axis, baseline = _size_axis(request, clients, mode)
    elif request.question == MODE:
        axis, baseline = [_value(one, one, size, one) for one in MODES], 'endpoint = "session"'
    else:
        direct = '[[axes.endpoint]]\nkey = "direct"\nendpoint = { kind = "direct" }'
        axis, baseline = [direct, _value("pooled", "pooled", size, mode)], 'endpoint = "direct"'
    runs = BLOCKS * ROUNDS * len(axis) * (0.6 if request.question == SIZE else 1)
    duration = int(max(LEAST_S, min(MOST_S, request.minutes * 60 / runs - SET_UP_S)))
    options = {"threads": 2} | workload | {"clients": clients, "duration": duration}
    lines = [f'name = "{NAME}"', f"title = {json.dumps(_title(request))}", f"baseline = {{ {baseline} }}"]
    lines += ['metrics = ["tps", "latency_avg_ms"]', "[options]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in options.items() if value is not None]
    return "\n".join([*lines, *axis, "[quick]", "[published_scale]"]) + "\n"


def _size_axis(request: AdviceRequest, clients: int, mode: str) -> tuple[Sequence[str], str]:
    found = sizes(request, clients)
    if len(found) < 2:
        message = _("the budget of %(cluster)s leaves too few connections to compare sizes: free some first")
        raise InvalidExperiment({"cluster": [message % {"cluster": request.cluster}]})
    texts = [_value(str(one), _("size %(size)s") % {"size": one}, one, mode, axis="size") for one in found]
    return texts, f'size = "{found[0]}"'


def _value(key: str, label: str, size: int, mode: str, axis: str = "endpoint") -> str:
    kind = f'kind = "pgbouncer", size = {size}, mode = "{mode}"'
    return f'[[axes.{axis}]]\nkey = "{key}"\nlabel = {json.dumps(label)}\nendpoint = {{ {kind} }}'


def _title(request: AdviceRequest) -> str:
    values = {"pool": request.pool or request.cluster}
    return {
        SIZE: _("What size should the pool %(pool)s have?"),
        MODE: _("Which mode suits the pool %(pool)s?"),
        POOLING: _("Direct or pooled: what is %(pool)s worth?"),
    }[request.question] % values


def check(request: AdviceRequest) -> None:
    """Raise `InvalidExperiment` where the question can't be asked of this pool."""
    if request.question not in QUESTIONS:
        known = ", ".join(QUESTIONS)
        raise InvalidExperiment({"question": [_("use one of %(known)s") % {"known": known}]})
    if request.pool is not None and request.pool.pooler.kind != PoolerKind.PGBOUNCER:
        raise InvalidExperiment({"pool": [_("sizes are swept on a PgBouncer: choose a pool on one")]})
