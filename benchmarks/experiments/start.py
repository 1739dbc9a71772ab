"""Starts an experiment: finds the playbook, names what it would change, and draws the plan; nothing is made yet."""

import secrets
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.errors import InvalidFields, InvalidOptions, Unconfirmed
from benchmarks.experiments import dispatch, library, order, other_host, resources, server_settings
from benchmarks.experiments.playbook import ArmSpec, EndpointSpec, PlaybookSpec
from benchmarks.generators import selection
from benchmarks.models import Experiment, Purpose
from benchmarks.models.advice import ExistingTables
from benchmarks.models.options import DatasetOptions, RunOptions
from benchmarks.runs.submission import options as load_options
from benchmarks.runs.submission.submit import require_queue
from core.accounts.access import Access
from pools.errors import ClusterUnreachable
from pools.models import Cluster, Pooler, PoolerKind
from pools.poolers import kinds_that

MOST_REPEATS, MOST_MINUTES = 50, 24 * 60
MOST_SECONDS = 60 * MOST_MINUTES
SEQUENTIAL_REPEATS = 30  # the most blocks where a budget of minutes decides


class InvalidExperiment(InvalidFields):
    """An experiment was requested that can't be carried out; `errors` are by field."""


@dataclass(frozen=True, kw_only=True)
class ExperimentRequest:
    """The experiment that a page or a script asks for.

    `minutes` asks for the sequential mode: blocks go on until the intervals are narrow enough or the budget is spent;
    `seconds` for the same. Without either, and without `repeats`, a quick form takes the seconds of its playbook.
    `options` replace the playbook's in every arm, such as a shorter duration, `dataset` those of the tables; `arms`
    names those that take part (none: all); `access` is that of whoever starts it (None: the panel itself);
    `confirm` is the cluster's name, which a protected cluster asks for;
    `is_admin` is whether whoever starts it holds the scope admin, which some settings of profiles need.
    """

    playbook: str
    cluster: Cluster
    author: User | None
    access: Access | None = None
    is_admin: bool = False
    pooler: Pooler | None = None
    generators: Sequence[str] = ()
    quick: bool = True
    repeats: int | None = None
    minutes: int | None = None
    seconds: int | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    dataset: Mapping[str, object] = field(default_factory=dict)
    arms: Sequence[str] = ()
    seed: int | None = None
    confirm: str = ""
    experiment_id: uuid.UUID | None = None


def start(request: ExperimentRequest) -> Experiment:
    """Queue one; raises `InvalidExperiment`, `NotAllowed`, `Unconfirmed` with the changes, and `QueueDown`."""
    spec = library.find(request.playbook, request.access)
    arms = _arms(spec, request)
    _check(spec, request)
    _check_options(spec, request, arms)
    library.refuse_settings(arms, is_admin=request.is_admin)
    if request.cluster.protected and request.confirm != request.cluster.name:
        raise unconfirmed(request.cluster, changes(spec, arms, request.cluster))
    require_queue()
    assigned = other_host.assign(spec, arms, request.generators)
    seconds = _seconds(spec, request)
    is_sequential = request.minutes or seconds
    repeats = request.repeats or (SEQUENTIAL_REPEATS if is_sequential else spec.scale(quick=request.quick).repeats)
    seed = secrets.randbelow(2**31) if request.seed is None else request.seed
    with transaction.atomic():
        experiment = Experiment.objects.enqueue(
            pk=request.experiment_id or uuid.uuid4(),
            playbook=spec.name,
            definition=spec.text,
            cluster=request.cluster,
            cluster_name=request.cluster.name,
            team_id=request.cluster.team_id,
            pooler=request.pooler,
            generators=assigned.generators,
            skipped=assigned.skipped,
            quick=request.quick,
            repeats=repeats,
            minutes=request.minutes,
            seconds=seconds,
            seed=seed,
            overrides=dict(request.options),
            dataset=_dataset(spec, request),
            plan=order.blocks([arm.key for arm in arms], repeats, seed),
            author=request.author,
            by_admin=request.is_admin,
        )
        transaction.on_commit(dispatch.request_advance)
    return experiment


def without_skipped(
    experiment: Experiment, author: User | None, confirm: str = "", *, is_admin: bool, access: Access | None = None
) -> Experiment:
    """Start an experiment again with the arms that could be measured; raises as `start`."""
    request = request_again(experiment, author, confirm, is_admin=is_admin, access=access)
    measured = [arm.key for arm in arms_of(experiment) if arm.key not in experiment.skipped]
    return start(replace(request, arms=measured))


def request_again(
    experiment: Experiment, author: User | None, confirm: str = "", *, is_admin: bool, access: Access | None = None
) -> ExperimentRequest:
    """Return the request that starts an experiment once more; raises `InvalidExperiment` without its cluster."""
    if experiment.cluster is None:
        raise InvalidExperiment({"cluster": [_("cluster %(name)s was removed") % {"name": experiment.cluster_name}]})
    has_budget = experiment.minutes or experiment.seconds
    return ExperimentRequest(
        playbook=experiment.playbook,
        cluster=experiment.cluster,
        author=author,
        access=access,
        is_admin=is_admin,
        pooler=experiment.pooler,
        generators=experiment.generators,
        quick=experiment.quick,
        repeats=None if has_budget else experiment.repeats,
        minutes=experiment.minutes,
        seconds=experiment.seconds,
        options=experiment.overrides,
        dataset=experiment.dataset,
        arms=[arm.key for arm in arms_of(experiment)],
        confirm=confirm,
    )


def changes(
    spec: PlaybookSpec,
    arms: Sequence[ArmSpec],
    cluster: Cluster | None = None,
    existing: ExistingTables | None = None,
) -> list[str]:
    """Return sentences on what the experiment creates and changes on the cluster.

    All of it is undone afterwards, except for the rows that scripts write to an `existing` database as its user.
    Without a cluster the list names the changes that the playbook's needs may cause on one that falls short of them.
    """
    sentences = [
        _tables_in_words(existing),
        _load_in_words(max(map(_clients_of, arms), default=0)),
    ]
    pools = {resources.pool_key(arm): arm.endpoint for arm in arms if arm.endpoint.is_pooled}
    sentences += [_pools_in_words(one, count) for one, count in Counter(pools.values()).items()]
    settings = sorted({name for arm in arms for name in arm.profile})
    if spec.needs.get("max_connections") and (cluster is None or server_settings.may_be_raised(spec, cluster)):
        settings = sorted({*settings, "max_connections"})
        sentences.append(_("The server restarts before the runs and after them where it has too few max_connections."))
        sentences += sessions_to_end(spec, cluster)
    if settings:
        listed = {"settings": ", ".join(settings)}
        sentences.append(_("ALTER SYSTEM changes server settings for the time of a run: %(settings)s") % listed)
    return sentences


def sessions_to_end(spec: PlaybookSpec, cluster: Cluster | None) -> list[str]:
    """Return a sentence on the sessions that a restart would end; empty without any, or while it can't be asked."""
    if cluster is None or not server_settings.may_be_raised(spec, cluster):
        return []
    try:
        who = server_settings.sessions_to_end(cluster)
    except ClusterUnreachable:
        return []
    return [who] if who else []


def _load_in_words(clients: int) -> str:
    text = ngettext(
        "The server is loaded by up to %(clients)s client.",
        "The server is loaded by up to %(clients)s clients.",
        clients,
    )
    return text % {"clients": clients}


def _tables_in_words(existing: ExistingTables | None) -> str:
    if existing:
        text = _("Scripts of your own run in database %(database)s as %(user)s: what they write stays.")
        return text % {"database": existing["database"], "user": existing["user"]}
    return _("A role and a database are created for the experiment, and filled with the playbook's tables.")


def _pools_in_words(one: EndpointSpec, count: int) -> str:
    """Return a sentence on the pools of a kind, mode and size: arms of several roles need one each."""
    text = ngettext(
        "A pool of %(size)s connections is added (%(kind)s, %(mode)s), and its pooler reloads.",
        "%(count)s pools of %(size)s connections are added (%(kind)s, %(mode)s), and their pooler reloads.",
        count,
    )
    return text % {"kind": PoolerKind(one.kind).label, "mode": one.mode, "size": one.size, "count": count}


def arms_of(experiment: Experiment) -> tuple[ArmSpec, ...]:
    """Return the arms of an experiment, those alone that are in its plan, in the order of the playbook."""
    spec = library.spec_of(experiment)
    planned = {key for block in experiment.plan for key in block}
    arms = spec.arms(quick=experiment.quick, overrides=experiment.overrides)
    common = experiment.server_settings
    sized = (_sized(arm, experiment.dataset) for arm in arms if arm.key in planned)
    return tuple(replace(arm, profile=common | dict(arm.profile)) for arm in sized)


def _sized(arm: ArmSpec, dataset: DatasetOptions) -> ArmSpec:
    """Return the arm with the scale of the tables if it runs scripts of its own alone: pgbench does not count it then.

    `benchmarks.engines.pgbench.scripts.contradictions` refuses a script that reads :scale without it.
    """
    options = arm.options
    if not options.get("scripts") or options.get("builtin") or options.get("scale") or not dataset.get("scale"):
        return arm
    sized: RunOptions = {**options, "scale": dataset["scale"]}
    return replace(arm, options=sized)


def _clients_of(arm: ArmSpec) -> int:
    options = arm.options
    return int(options.get("clients") or options.get("concurrency") or 0) + int(options.get("idle_connections") or 0)


def _arms(spec: PlaybookSpec, request: ExperimentRequest) -> list[ArmSpec]:
    dataset = _dataset(spec, request)
    arms = [_sized(arm, dataset) for arm in spec.arms(quick=request.quick, overrides=request.options)]
    if not request.arms:
        return arms
    known = {arm.key for arm in arms}
    if unknown := [key for key in request.arms if key not in known]:
        message = _("%(keys)s: no arm of %(playbook)s; its arms are %(known)s")
        values = {"keys": ", ".join(unknown), "playbook": spec.name, "known": ", ".join(sorted(known))}
        raise InvalidExperiment({"arms": [message % values]})
    return [arm for arm in arms if arm.key in request.arms]


def _check(spec: PlaybookSpec, request: ExperimentRequest) -> None:
    errors: dict[str, list[str]] = {}
    bounds = {
        "repeats": (request.repeats, MOST_REPEATS),
        "minutes": (request.minutes, MOST_MINUTES),
        "seconds": (request.seconds, MOST_SECONDS),
    }
    for name, (value, most) in bounds.items():
        if value is not None and not 1 <= value <= most:
            errors[name] = [_("%(value)s is out of range: use 1 to %(most)s") % {"value": value, "most": most}]
    if request.pooler is not None and request.pooler.kind not in kinds_that("takes_experiments"):
        errors["pooler"] = [_("a playbook's pools are made on a PgBouncer or a Pgpool-II: choose one")]
    if errors:
        raise InvalidExperiment(errors)
    if request.generators:
        selection.checked(request.generators, spec.engine, Purpose.LOAD)


def _check_options(spec: PlaybookSpec, request: ExperimentRequest, arms: Sequence[ArmSpec]) -> None:
    """Raise `InvalidExperiment` where a run would refuse what the request puts in the place of the playbook's.

    Scripts of the library are looked up by the runs, which belong to the panel: whoever starts it has to see them.
    """
    if any(arm.options.get("stages") for arm in arms):
        raise InvalidExperiment({"options": [_("stages: only a single run has them: leave them out")]})
    may_see_all = request.access is None or request.access.sees_all
    for arm in arms if request.options or not may_see_all else ():
        _check_run(request, spec.engine, "options", arm.options, Purpose.LOAD)
    if request.dataset:
        _check_run(request, spec.engine, "dataset", _dataset(spec, request), Purpose.PREPARE)


def _check_run(
    request: ExperimentRequest, engine: str, field_name: str, options: Mapping[str, object], purpose: Purpose
) -> None:
    try:
        load_options.validate(engine, options, purpose=purpose, access=request.access)
    except InvalidOptions as error:
        text = _("%(option)s: %(reason)s")
        messages = [text % {"option": name, "reason": one} for name, reasons in error.errors.items() for one in reasons]
        raise InvalidExperiment({field_name: messages}) from None


def _seconds(spec: PlaybookSpec, request: ExperimentRequest) -> int | None:
    """Return the budget in seconds: the one asked for, else that of the playbook where no other size was asked for."""
    if request.repeats or request.minutes or request.seconds:
        return request.seconds
    return spec.scale(quick=request.quick).seconds


def _dataset(spec: PlaybookSpec, request: ExperimentRequest) -> DatasetOptions:
    """Return the options of the preparation: those of the request, in the place of the playbook's."""
    return cast("DatasetOptions", {**spec.scale(quick=request.quick).dataset, **request.dataset})


def unconfirmed(cluster: Cluster, changes: Sequence[str]) -> Unconfirmed:
    """Return the refusal of a protected cluster whose name was not typed, with the list of changes."""
    text = _("cluster %(cluster)s is protected: confirm the changes of the experiment with the cluster's name")
    return Unconfirmed([text % {"cluster": cluster}, *changes])
