"""Submitting runs: everything is checked first, saved next, and sent to a worker once it is committed."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import transaction

from benchmarks.engines import DEFAULT_ENGINE, ENGINES
from benchmarks.errors import InvalidOptions, InvalidTarget, QueueDown
from benchmarks.generators import host_files, selection
from benchmarks.library.scripts import dry_run, privileges
from benchmarks.models import Purpose, Run, ScriptVersion
from benchmarks.runs.setup import connection_headroom, validation
from benchmarks.runs.submission import dispatch, limits, program_versions, split
from benchmarks.runs.submission import options as load_options
from benchmarks.targets import datasets, resolve, server_version
from benchmarks.targets.resolve import Target
from panel.lib import redis_client
from pools.clusters.login_errors import Cause
from pools.errors import ClusterUnreachable

PING_S = 1.0
NAME_CAP = 200
MOST_REPEATS = 20
Thresholds = Sequence[dict[str, Any]]  # as benchmarks.models.thresholds reads them


@dataclass(frozen=True)
class Placement:
    """The generators named (none: any), and whether to start although others run there or on the target."""

    generators: Sequence[str] = ()
    alongside: bool = False

    def fields(self, engine: str, purpose: str) -> dict[str, Any]:
        """The run's columns; raises `InvalidGenerators` where a generator can't carry it, and `QueueDown`."""
        names = selection.checked(self.generators, engine, purpose)
        bound_to = names[0] if len(names) == 1 else ""
        return {"wanted_generators": names, "generator": bound_to, "alongside": self.alongside}


ANYWHERE = Placement()


def submit(
    *,
    target: dict[str, Any],
    options: dict[str, Any],
    author: Any,
    engine: str = DEFAULT_ENGINE,
    purpose: str = Purpose.LOAD,
    name: str = "",
    group: uuid.UUID | None = None,
    confirm: str = "",
    place: Placement = ANYWHERE,
    thresholds: Thresholds = (),
    tags: Sequence[str] = (),
    run_id: uuid.UUID | None = None,
) -> Run:
    """A queued run against a target as `targets.find` takes it.

    `confirm` is the database's name where it had to be typed; `run_id` is the id of the run (of several: of the
    first) where it is known before. Raises, with nothing saved: `InvalidTarget`, `InvalidOptions`,
    `InvalidGenerators`, `Refused`, `ClusterUnreachable` (of the pools app) and `QueueDown`.
    """
    aim, checked = _checked(target, options, engine, purpose, confirm, author=author, place=place)
    _require_queue()
    shared: dict[str, Any] = {"author": author, "purpose": purpose, "name": name, "group": group, "engine": engine}
    shared["tags"] = tags
    return _enqueue(aim, checked, run_id, **shared, **place.fields(engine, purpose), thresholds=list(thresholds))


def submit_series(
    count: int,
    *,
    target: dict[str, Any],
    options: dict[str, Any],
    author: Any,
    engine: str = DEFAULT_ENGINE,
    purpose: str = Purpose.LOAD,
    name: str = "",
    confirm: str = "",
    place: Placement = ANYWHERE,
    thresholds: Thresholds = (),
    tags: Sequence[str] = (),
    run_id: uuid.UUID | None = None,
) -> list[Run]:
    """The same run `count` times, one after the other, as one group. Raises as `submit` does, for all or none."""
    aim, checked = _checked(target, options, engine, purpose, confirm, author=author, place=place)
    _require_queue()
    shared: dict[str, Any] = {"author": author, "purpose": purpose, "name": name, "engine": engine}
    shared |= {"group": uuid.uuid4(), "thresholds": list(thresholds), "tags": tags} | place.fields(engine, purpose)
    with transaction.atomic():
        return [_enqueue(aim, checked, None if at else run_id, **shared) for at in range(count)]


def submit_pair(
    target: dict[str, Any],
    options: dict[str, Any],
    author: Any,
    *,
    repeat: int = 1,
    engine: str = DEFAULT_ENGINE,
    name: str = "",
    confirm: str = "",
    place: Placement = ANYWHERE,
    thresholds: Thresholds = (),
    tags: Sequence[str] = (),
    run_id: uuid.UUID | None = None,
) -> list[Run]:
    """Runs of one group that follow each other: the target's cluster directly and through the target, `repeat` times.

    The target is a pool, or an external endpoint behind which a cluster is registered.

    Each second pair is turned round (direct, pooled, pooled, direct, …), so that what drifts with time falls on both
    alike. Both log in as the same role, so that nothing but the pool differs. Raises as `submit` does, for all or none.
    """
    direct = resolve.past_the_pooler(resolve.find(target))
    pooled, checked = _checked(target, options, engine, Purpose.LOAD, confirm, author=author, place=place)
    _require_queue()
    shared: dict[str, Any] = {"author": author, "purpose": Purpose.LOAD, "name": name, "engine": engine}
    shared |= {"group": uuid.uuid4(), "thresholds": list(thresholds), "tags": tags} | place.fields(engine, Purpose.LOAD)
    order = [aim for at in range(repeat) for aim in ((direct, pooled) if at % 2 == 0 else (pooled, direct))]
    with transaction.atomic():
        return [_enqueue(aim, checked, None if at else run_id, **shared) for at, aim in enumerate(order)]


def _checked(
    target: dict[str, Any],
    options: dict[str, Any],
    engine: str,
    purpose: str,
    confirm: str,
    *,
    author: Any,
    place: Placement,
) -> tuple[Target, dict[str, Any]]:
    if engine not in ENGINES:
        raise InvalidOptions({"engine": [f"{engine!r} is no engine here: use one of {', '.join(ENGINES)}"]})
    if purpose not in (Purpose.LOAD, Purpose.PREPARE):
        raise InvalidOptions({"purpose": [f"{purpose!r} can't be submitted: use load or prepare"]})
    aim = resolve.find(target, purpose=purpose)
    checked = load_options.validate(engine, options, purpose=purpose)
    limits.check(author, aim.cluster, checked)
    program = program_versions.check(engine, checked, place.generators)
    host_files.check(engine, checked, place.generators)
    wanted = ENGINES[engine].tables_of(checked, purpose=purpose)
    try:
        privileges.guard(aim, checked, confirm)
        if program and purpose == Purpose.PREPARE:
            server_version.refuse_unmakeable(resolve.cluster_of(aim), engine, checked, program)
        if wanted is not None and purpose == Purpose.PREPARE:
            return datasets.guard_prepare(resolve.cluster_of(aim), aim.database, wanted, confirm), checked
        connection_headroom.guard(aim, engine, checked)
        if wanted is not None:
            datasets.guard_load(aim, wanted, confirm)
        validation.guard(aim, checked, confirm)
    except ClusterUnreachable as error:
        if error.cause == Cause.NO_DATABASE:
            raise InvalidTarget({"database": [str(error)]}) from None
        raise
    return aim, checked


def _enqueue(
    aim: Target,
    options: dict[str, Any],
    run_id: uuid.UUID | None = None,
    *,
    name: str,
    tags: Sequence[str],
    **fields: Any,
) -> Run:
    fields |= {"pk": run_id} if run_id else {}
    with transaction.atomic():
        run = Run.objects.enqueue(**aim.fields(), options=options, name=name[:NAME_CAP], **fields)
        run.set_tags(tags)
        if run.is_spread:
            split.make_parts(run)
        transaction.on_commit(partial(dispatch.dispatch_new, run))
    return run


def _require_queue() -> None:
    """Refuse while no worker could be told: better nothing saved than a run that nobody starts."""
    try:
        with redis_client.opened(PING_S) as client:
            client.ping()
    except redis_client.ERRORS as error:
        raise QueueDown("redis can't be reached, so no worker can be told; nothing was saved: try again") from error


def start(
    version: ScriptVersion,
    *,
    target: dict[str, Any],
    author: Any,
    variables: Any = None,
    protocol: str | None = None,
    confirm: str = "",
) -> Run:
    """A queued run of one transaction; raises as `submitting.submit` does.

    Text of several words needs another protocol than the simple one (`benchmarks.engines.pgbench.variables`).
    """
    scripts = [{"script_version": version.pk}]
    options = dry_run.ONCE | {"scale": 1, "scripts": scripts, "variables": variables, "protocol": protocol}
    name = f"Dry run of {version}"
    return submit(target=target, options=options, author=author, name=name, confirm=confirm)
