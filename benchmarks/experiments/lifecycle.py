"""Carries experiments on, a step at a time: what the database says is all that a step needs, so that a killed worker,
a restart or a second delivery changes nothing."""

import logging
import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.errors import BenchmarksError, InvalidFields, QueueDown
from benchmarks.experiments import (
    authentication,
    kept_connections,
    library,
    order,
    other_host,
    resources,
    sequential,
    server_settings,
)
from benchmarks.experiments.advice import answers, sweep
from benchmarks.experiments.playbook import ArmSpec
from benchmarks.experiments.resources import RequiredResource
from benchmarks.experiments.start import arms_of
from benchmarks.library.settings_profiles import shared
from benchmarks.models import FINAL, Experiment, ExperimentState, Phase, Purpose, ResourceKind, Run, Status
from benchmarks.models.advice import RecommendedSize
from benchmarks.runs.submission import cancel, submit
from benchmarks.runs.submission.submit import Placement, RunRequest
from benchmarks.targets.resolve import RequestedTarget
from core.lib.errors import DomainError
from pools.errors import ClusterUnreachable, PoolsError

log = logging.getLogger(__name__)

APPLIED_WITHIN = timedelta(seconds=120)
RELEASED_WITHIN = timedelta(seconds=15)
REMOVED_WITHIN = timedelta(seconds=120)
RESTARTED_WITHIN = timedelta(seconds=150)  # longer than the panel's own deadline for the command that restarts
DATASET = "dataset"
PASSING = (ClusterUnreachable, QueueDown)  # waited for, whatever the phase: neither an arm's fault nor the end
PREPARATIONS = 2  # a second one only where the first was lost with its generator


def advance_all() -> None:
    """Carry each unfinished experiment on as far as it goes without waiting; one at a time on a cluster."""
    busy: set[uuid.UUID | None] = set()
    for experiment in Experiment.objects.unfinished():
        if experiment.state == ExperimentState.QUEUED and experiment.cluster_id in busy:
            continue
        busy.add(experiment.cluster_id)
        advance(experiment.pk)


def advance(pk: uuid.UUID) -> None:
    """Carry one on, unless another worker does."""
    experiment = Experiment.objects.claim(pk)
    if experiment is None:
        return
    try:
        while _step(experiment):
            experiment.renew()
            experiment.refresh_from_db()
    except DomainError as error:
        log.warning("%s: %s", experiment, error)
        if experiment.phase != Phase.TEARDOWN and not isinstance(error, PASSING):
            experiment.tear_down(ExperimentState.FAILED, str(error))
    finally:
        experiment.release()


def _step(experiment: Experiment) -> bool:
    """Do the next thing; False where something else has to happen first."""
    if experiment.has_ended:
        resources.remove_all(experiment)
        return False
    if experiment.cancel_requested_at and experiment.phase != Phase.TEARDOWN:
        return _cancel(experiment)
    return {Phase.SETUP: _set_up, Phase.MEASURE: _measure, Phase.TEARDOWN: _tear_down}[Phase(experiment.phase)](
        experiment
    )


def _cancel(experiment: Experiment) -> bool:
    """End the run that is on, keep what was measured, and go on to the teardown."""
    for run in experiment.runs.exclude(status__in=FINAL):
        cancel.cancel(run)
    if experiment.runs.exclude(status__in=FINAL).exists():
        return False
    experiment.tear_down(ExperimentState.CANCELLED, _("cancelled: what was measured until then is kept"))
    return True


def _set_up(experiment: Experiment) -> bool:
    """Make what is missing; measure once all of it is there."""
    if experiment.state == ExperimentState.QUEUED:
        _begin(experiment)
    arms = arms_of(experiment)
    for need in resources.needs(experiment, arms):
        _create_resource(experiment, need)
        experiment.renew()
    if not _dataset_is_ready(experiment):
        return False
    pending, refused = resources.pending_pools(experiment)
    waited = timezone.now() - (experiment.started_at or timezone.now())
    if pending and waited < APPLIED_WITHIN:
        return False
    if waited < APPLIED_WITHIN and resources.retry_refused_pools(experiment, refused):
        return False
    late = _("its pool was not applied within %(seconds)d s") % {"seconds": APPLIED_WITHIN.total_seconds()}
    refused |= dict.fromkeys(pending, late)
    _skip(experiment, {arm.key: refused[key] for arm in arms if (key := resources.pool_key(arm)) in refused})
    _skip(experiment, authentication.mismatches(experiment, [one for one in arms if one.key not in experiment.skipped]))
    remaining = [arm for arm in arms if arm.key not in experiment.skipped]
    if len(remaining) < 2:
        reason = _("there is nothing to compare: %(reasons)s") % {"reasons": "; ".join(_reasons(experiment))}
        experiment.tear_down(ExperimentState.FAILED, reason)
        return True
    experiment.write(phase=Phase.MEASURE, measuring_at=timezone.now())
    return True


def _begin(experiment: Experiment) -> None:
    """Decide, once, which settings the server falls short of: every arm runs under the same ones."""
    spec, cluster = library.spec_of(experiment), resources.cluster_of(experiment)
    settings, notes = server_settings.raised(spec, cluster, is_admin=experiment.by_admin)
    experiment.write(
        state=ExperimentState.RUNNING,
        started_at=timezone.now(),
        server_settings=settings,
        notes=list(dict.fromkeys([*experiment.notes, *notes])),
    )


def _reasons(experiment: Experiment) -> list[str]:
    return list(dict.fromkeys(experiment.skipped.values()))


def _create_resource(experiment: Experiment, need: RequiredResource) -> None:
    """Make a thing; what a part of the arms alone needs and can't be made leaves those arms out."""
    if need.arms and all(arm in experiment.skipped for arm in need.arms):
        return
    try:
        resources.create(experiment, need)
    except PASSING:
        raise
    except DomainError as error:
        if not need.arms:
            raise
        _skip(experiment, dict.fromkeys(need.arms, str(error)))


def _skip(experiment: Experiment, reasons: dict[str, str]) -> None:
    if reasons:
        experiment.write(skipped=reasons | experiment.skipped)


def _dataset_is_ready(experiment: Experiment) -> bool:
    """Return whether the tables are there; submits the run that makes them, once more if it is lost with its generator.

    Raises `BenchmarksError` where that failed.
    """
    if resources.loads_existing(experiment):
        return True
    runs = experiment.runs.filter(purpose=Purpose.PREPARE, created_at__gte=experiment.started_at).order_by("-number")
    run, tries = runs.first(), runs.count()
    if run is None or (run.status == Status.LOST and tries < PREPARATIONS):
        _prepare(experiment, tries)
        return False
    if run.is_final and run.status != Status.SUCCEEDED:
        raise BenchmarksError(_("the dataset was not made: %(reason)s") % {"reason": run.error})
    return run.is_final


def _prepare(experiment: Experiment, tries: int) -> None:
    """Submit the run that makes the tables; it drops what an earlier try left of them."""
    key = f"{DATASET}/{experiment.wanted_blocks}"  # Each setup has a key of its own.
    if tries:
        key = f"{key}/{tries}"
    _submit(experiment, key, "", resources.role_of(experiment, ""), experiment.dataset, Purpose.PREPARE)


def _measure(experiment: Experiment) -> bool:
    """Submit the next run of the plan once the last one has ended."""
    if experiment.runs.exclude(status__in=FINAL).exists():
        return False
    planned = [(block, arm) for block, keys in enumerate(experiment.plan) for arm in keys]
    if experiment.step and experiment.step % len(experiment.plan[0]) == 0 and sequential.is_settled(experiment):
        planned = planned[: experiment.step]
    if experiment.step >= len(planned) or sweep.is_out_of_time(experiment):
        if not (sweep.add_round(experiment) or _repeats_blocks(experiment)):
            if recommendation := _final_recommendation(experiment):
                experiment.write(advice={**experiment.advice, "recommendation": recommendation})
            experiment.tear_down(ExperimentState.SUCCEEDED)
        return True
    block, key = planned[experiment.step]
    if key not in experiment.skipped:
        arm = next(arm for arm in arms_of(experiment) if arm.key == key)
        if resources.is_being_applied(experiment, arm) and not _has_waited(experiment, APPLIED_WITHIN):
            return False
        if kept_connections.close_server_connections(experiment) and not _has_waited(experiment, RELEASED_WITHIN):
            return False
        _submit_arm(experiment, arm, block)
    experiment.write(step=experiment.step + 1)
    return True


def _repeats_blocks(experiment: Experiment) -> bool:
    return not sweep.is_out_of_time(experiment) and sequential.repeat_contended(experiment)


def _final_recommendation(experiment: Experiment) -> RecommendedSize | None:
    return answers.of(experiment) if experiment.advice else None


def _has_waited(experiment: Experiment, within: timedelta) -> bool:
    """Return whether what the last run left behind, or what its end waits for, has had its time."""
    last = experiment.runs.order_by("-number").values_list("finished_at", flat=True).first()
    return last is None or timezone.now() - last > within


def _submit_arm(experiment: Experiment, arm: ArmSpec, block: int) -> None:
    """Submit a run of an arm; one that is refused before it starts leaves the arm out, with the reason."""
    pool = experiment.resources.filter(kind=ResourceKind.POOL, key=resources.pool_key(arm)).first()
    profile = experiment.resources.filter(kind=ResourceKind.PROFILE, key=resources.profile_key(arm)).first()
    options = {**arm.options} | ({"settings_profile": profile.name} if profile and arm.profile else {})
    try:
        _submit(
            experiment,
            order.key_of_run(block, arm.key),
            arm.key,
            resources.role_of(experiment, arm.auth),
            options,
            Purpose.LOAD,
            pool=str(pool.record) if pool and arm.endpoint.is_pooled else "",
            name=f"{experiment} · {arm.label}",
            generators=_generators_of(experiment, arm),
        )
    except PASSING:
        raise
    except (InvalidFields, PoolsError, BenchmarksError) as error:
        _skip(experiment, {arm.key: str(error)})


def _submit(
    experiment: Experiment,
    key: str,
    arm: str,
    role: str,
    options: Mapping[str, object],
    purpose: Purpose,
    *,
    pool: str = "",
    name: str = "",
    generators: Sequence[str] = (),
) -> None:
    """Queue a run under an id that its place in the plan gives, so that no second delivery starts it twice."""
    run_id = order.run_id(experiment.pk, key)
    if Run.objects.filter(pk=run_id).exists():
        return
    database = resources.database_of(experiment)
    direct: RequestedTarget = {"cluster": str(experiment.cluster_id), "database": database, "user": role}
    pooled: RequestedTarget = {"pool": pool}
    if external := experiment.advice.get("external"):
        direct = {"external": external}
    request = RunRequest(
        target=pooled if pool else direct,
        options=options,
        author=experiment.author,
        is_admin=experiment.by_admin,
        engine=library.spec_of(experiment).engine,
        purpose=purpose,
        name=name or f"{experiment} · {key}",
        group=experiment.pk if purpose == Purpose.LOAD else None,
        # The database is the experiment's own, or its use was confirmed when the experiment was requested.
        confirm=database,
        place=Placement(generators or _generators(experiment)[:1]),
        run_id=run_id,
        experiment=experiment,
        arm=arm,
    )
    submit.submit(request)


def _generators_of(experiment: Experiment, arm: ArmSpec) -> list[str]:
    """Return the names of the generators that run an arm."""
    if arm.other_host:
        return [other_host.generator_of(experiment, arm, library.spec_of(experiment).engine)]
    return _generators(experiment)


def _generators(experiment: Experiment) -> list[str]:
    """Return those asked for, else that of the first run: another machine's figures are not comparable."""
    first = experiment.runs.filter(purpose=Purpose.LOAD).exclude(generator="").order_by("number").first()
    if experiment.generators or first is None or first.is_spread:
        return list(experiment.generators)
    return [first.generator]


def _tear_down(experiment: Experiment) -> bool:
    """Remove what was made; what resists is named, and tried again after the end."""
    if experiment.runs.exclude(status__in=FINAL).exists():
        return False
    experiment.renew(RESTARTED_WITHIN)
    reasons = [*shared.end_of(experiment), *resources.remove_all(experiment)]
    since = experiment.runs.order_by("-finished_at").values_list("finished_at", flat=True).first()
    waited = timezone.now() - (since or experiment.started_at or experiment.created_at)
    if reasons and waited < REMOVED_WITHIN:
        return False
    if reasons:
        reason = _("left for now and tried again: %(left)s") % {"left": "; ".join(reasons)}
        experiment.write(reasons=[*experiment.reasons, reason])
    experiment.finish()
    return False
