"""Submits runs: everything is checked first, then saved, then dispatched once it is committed."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import TypedDict

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from benchmarks.engines import DEFAULT_ENGINE, ENGINES
from benchmarks.errors import InvalidOptions, InvalidTarget, QueueDown
from benchmarks.generators import host_checks, host_files, selection
from benchmarks.library.scripts import dry_run, privileges
from benchmarks.library.settings_profiles import shared
from benchmarks.models import Experiment, Purpose, Run, ScriptVersion
from benchmarks.models.options import RunOptions
from benchmarks.models.thresholds import Threshold
from benchmarks.runs import setup
from benchmarks.runs.setup import connection_headroom
from benchmarks.runs.submission import dispatch, limits, options, prepared, split, sweep
from benchmarks.runs.submission import options as load_options
from benchmarks.targets import datasets, resolve, server_version
from benchmarks.targets.resolve import RequestedTarget, Target
from core.accounts.access import Access
from core.lib import redis_client
from pools.clusters.login_errors import Cause
from pools.errors import ClusterUnreachable

PING_S = 1.0
NAME_CAP = 200
MOST_REPEATS = 20
Load = tuple[Target, RunOptions]


class PlacementColumns(TypedDict):
    """The columns of a run that say where it is executed."""

    wanted_generators: list[str]
    generator: str
    alongside: bool


class RequestColumns(PlacementColumns):
    """The columns that all runs of a request share."""

    author: User | None
    purpose: str
    engine: str
    group: uuid.UUID | None
    name: str
    thresholds: list[Threshold]
    experiment: Experiment | None
    arm: str
    by_admin: bool


@dataclass(frozen=True)
class Placement:
    """The generators named (none: any), and whether to start beside other runs on them or on the target."""

    generators: Sequence[str] = ()
    alongside: bool = False

    def fields(self, engine: str, purpose: str) -> PlacementColumns:
        """Return the run's columns; raise `InvalidGenerators` where a generator can't carry it, and `QueueDown`."""
        names = selection.checked(self.generators, engine, purpose)
        bound_to = names[0] if len(names) == 1 else ""
        return {"wanted_generators": names, "generator": bound_to, "alongside": self.alongside}


ANYWHERE = Placement()


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """A submission: one run, a series of repeats, pairs of runs past and through a pooler, or a sweep over clients.

    `target` is what `targets.resolve.find` takes; `confirm` is the database's name where it had to be typed;
    `thresholds` are as `benchmarks.models.thresholds` reads them; `run_id` is the id of the first run where it was
    chosen before; `sweep_clients` are numbers of clients, each of which gets such runs; `arm` is the key of the arm of
    the `experiment` that it is a run of; `access` is that of whoever starts it (None: the panel itself), and `is_admin`
    is whether they hold the scope admin, which some settings of a profile need.
    """

    target: RequestedTarget
    options: Mapping[str, object]
    author: User | None
    access: Access | None = None
    is_admin: bool = False
    engine: str = DEFAULT_ENGINE
    purpose: str = Purpose.LOAD
    name: str = ""
    group: uuid.UUID | None = None
    confirm: str = ""
    place: Placement = ANYWHERE
    thresholds: Sequence[Threshold] = ()
    tags: Sequence[str] = ()
    run_id: uuid.UUID | None = None
    repeat: int = 1
    pair: bool = False
    sweep_clients: Sequence[int] = ()
    experiment: Experiment | None = None
    arm: str = ""


def submit(request: RunRequest) -> list[Run]:
    """Queue the runs of a request, in their order; several form one group.

    Raises, with nothing saved: `InvalidTarget`, `InvalidOptions`, `InvalidGenerators`, `InvalidSweep`, `Refused`,
    `ClusterUnreachable` (of the pools app) and `QueueDown`.
    """
    _refuse_stages_of_several(request)
    direct = resolve.past_the_pooler(_found(request, Purpose.LOAD)) if request.pair else None
    loads = _checked_loads(request)
    require_queue()
    planned = list(_planned(direct, loads, request.repeat))
    fields = _fields(request, request.group or (uuid.uuid4() if len(planned) > 1 else None))
    ids = [request.run_id, *[None] * (len(planned) - 1)]
    with transaction.atomic():
        return [
            _enqueue(target, checked, fields, request.tags, run_id)
            for (target, checked), run_id in zip(planned, ids, strict=True)
        ]


def _refuse_stages_of_several(request: RunRequest) -> None:
    if request.options.get("stages") and (request.pair or request.sweep_clients or request.experiment):
        text = _("only a single run has stages: leave them out, or start it without a pair, a sweep or an experiment")
        raise InvalidOptions({"stages": [text]})


def _checked_loads(request: RunRequest) -> list[Load]:
    """Return target and options of the request, or of each step of its sweep, as they may be run."""
    clients = request.sweep_clients
    if not clients:
        return [_checked_after_restart(request)]
    runs_each = request.repeat * (2 if request.pair else 1)
    counted = sweep.check(clients, engine=request.engine, purpose=request.purpose, runs_each=runs_each)
    with sweep.naming_the_sweep(counted):
        steps = sweep.options_of(request.engine, request.options, counted, clients)
        # The most clients come first, since these are what a ceiling or the server refuses.
        in_turn = sorted(zip(clients, steps, strict=True), key=itemgetter(0), reverse=True)
        checked = {number: _checked_after_restart(replace(request, options=step)) for number, step in in_turn}
        return [checked[number] for number in clients]


def _planned(direct: Target | None, loads: Sequence[Load], repeat: int) -> Iterator[Load]:
    """Yield the load of each run, each second repeat turned round, so that drift over time affects all alike.

    Of a pair: direct, pooled, pooled, direct, ….
    """
    in_order = [(one, checked) for target, checked in loads for one in ([direct, target] if direct else [target])]
    for at in range(repeat):
        yield from in_order if at % 2 == 0 else reversed(in_order)


def _fields(request: RunRequest, group: uuid.UUID | None) -> RequestColumns:
    return {
        "author": request.author,
        "purpose": request.purpose,
        "engine": request.engine,
        "group": group,
        "name": request.name[:NAME_CAP],
        "thresholds": list(request.thresholds),
        "experiment": request.experiment,
        "arm": request.arm,
        "by_admin": request.is_admin,
        **request.place.fields(request.engine, request.purpose),
    }


def _checked_after_restart(request: RunRequest) -> tuple[Target, RunOptions]:
    """Check the request; a server that the panel restarts for an experiment is waited for."""
    try:
        return _check_request(request)
    except ClusterUnreachable:
        cluster = _found(request, request.purpose).cluster
        if request.experiment or cluster is None or not shared.is_up_again(cluster):
            raise
        return _check_request(request)


def _check_request(request: RunRequest) -> tuple[Target, RunOptions]:
    engine, purpose, place = request.engine, request.purpose, request.place
    if engine not in ENGINES:
        text = _("%(engine)s is not an engine here: choose one of %(engines)s")
        raise InvalidOptions({"engine": [text % {"engine": repr(engine), "engines": ", ".join(ENGINES)}]})
    if purpose not in (Purpose.LOAD, Purpose.PREPARE):
        raise InvalidOptions(
            {"purpose": [_("%(purpose)s can't be submitted: use load or prepare") % {"purpose": repr(purpose)}]}
        )
    target = _found(request, purpose)
    checked = load_options.validate(engine, request.options, purpose=purpose, access=request.access)
    limits.check(request.author, target.cluster, checked)
    if purpose == Purpose.LOAD:
        prepared.guard(target, engine, checked)
    program = options.check_program_version(engine, checked, place.generators)
    host_files.check(engine, checked, place.generators)
    host_checks.check_scripts(checked, place.generators)
    try:
        return _allowed_by_server(request, target, checked, program), checked
    except ClusterUnreachable as error:
        if error.cause == Cause.NO_DATABASE:
            raise InvalidTarget({"database": [str(error)]}) from None
        raise


def _found(request: RunRequest, purpose: str) -> Target:
    return resolve.find(request.target, purpose=purpose, access=request.access)


def _allowed_by_server(
    request: RunRequest, target: Target, checked: RunOptions, program: load_options.Version | None
) -> Target:
    """Return the target as the run has it, once the server has been asked, in one session, what it would refuse."""
    engine, purpose, confirm = request.engine, request.purpose, request.confirm
    tables = ENGINES[engine].tables_of(checked, purpose=purpose)
    with resolve.admin_session(target, target.database if tables else None) as session:
        privileges.guard(target, checked, confirm, session)
        if program and purpose == Purpose.PREPARE:
            server_version.refuse_unmakeable(session(), engine, checked, program)
        if tables is not None and purpose == Purpose.PREPARE:
            return datasets.guard_prepare(target, tables, confirm, session)
        connection_headroom.guard(target, engine, checked, session, request.access)
        if tables is not None:
            datasets.guard_load(target, tables, confirm, session)
        setup.guard(target, checked, confirm, session, is_admin=request.is_admin, access=request.access)
    return target


def _enqueue(
    target: Target, options: RunOptions, fields: RequestColumns, tags: Sequence[str], run_id: uuid.UUID | None
) -> Run:
    with transaction.atomic():
        run = Run.objects.enqueue(**target.fields(), options=options, **fields, pk=run_id or uuid.uuid4())
        run.set_tags(tags)
        if run.is_spread:
            split.make_parts(run)
        transaction.on_commit(partial(dispatch.dispatch_new, run))
    return run


def require_queue() -> None:
    """Raise `QueueDown` while Redis is away: better nothing saved than a run that nobody starts."""
    try:
        redis_client.shared(PING_S).ping()
    except redis_client.ERRORS as error:
        raise QueueDown(
            _("redis can't be reached, so no run can be dispatched; nothing was saved: try again")
        ) from error


def dry_run_request(
    version: ScriptVersion,
    *,
    target: RequestedTarget,
    author: User | None,
    access: Access | None = None,
    variables: object = None,
    protocol: str | None = None,
    confirm: str = "",
) -> RunRequest:
    """Build the request for one transaction of a script.

    Text of several words needs another protocol than the simple one (`benchmarks.engines.pgbench.variables`).
    """
    scripts = [{"script_version": version.pk}]
    options = dry_run.ONCE | {"scale": 1, "scripts": scripts, "variables": variables, "protocol": protocol}
    return RunRequest(
        target=target,
        options=options,
        author=author,
        access=access,
        name=_("Dry run of %(version)s") % {"version": version},
        confirm=confirm,
    )
