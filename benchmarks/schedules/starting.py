"""Starts what a schedule repeats, with the rights of its author; what is refused keeps its reason."""

import uuid
from dataclasses import replace

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from benchmarks.errors import Refused
from benchmarks.experiments import start as experiments
from benchmarks.experiments.advice import again as again_asked
from benchmarks.experiments.advice.again import Repetition
from benchmarks.models import Experiment, Run, Schedule, ScheduledStart, StartState
from benchmarks.runs.submission import again, submit
from core.accounts.access import Access
from core.accounts.models import Scope
from core.accounts.permissions import user_holds


def operation_of(repeated: Run | Experiment) -> str:
    """Return the operation that starts it."""
    return "run.start" if isinstance(repeated, Run) else "experiment.start"


def why_not(schedule: Schedule, others: QuerySet[ScheduledStart]) -> str:
    """Return why nothing may start now beside its other starts, without asking any server; empty where it may."""
    author, target = schedule.author, schedule.owner
    if target is None:
        return _("what %(repeated)s loads was removed") % {"repeated": schedule.repeated}
    if author is None or not author.is_active:
        return _("its author can't log in any more: somebody else has to save the schedule")
    if not Access(author).may(operation_of(schedule.repeated), target):
        return _("its author %(author)s may not start it any more") % {"author": author}
    if schedule.needs_consent:
        return _("cluster %(cluster)s is protected: an owner has to agree to the schedule once") % {
            "cluster": schedule.cluster
        }
    previous = others.exclude(state=StartState.MISSED).select_related("run", "experiment").first()
    if previous and previous.goes_on:
        return _("%(previous)s, which it started before, has not ended yet") % {"previous": previous.began or previous}
    return ""


def find(start_id: uuid.UUID) -> Run | Experiment | None:
    """Return what a start began: it has the same id."""
    return Run.objects.filter(pk=start_id).first() or Experiment.objects.filter(pk=start_id).first()


def start(schedule: Schedule, start_id: uuid.UUID) -> Run | Experiment:
    """Start it; return the experiment, or the first of the runs, which gets this id. Raises as their own verbs do."""
    author = schedule.author
    if author is None:
        raise Refused(_("schedule %(schedule)s has no author any more") % {"schedule": schedule})
    if schedule.run:
        return _start_runs(schedule, schedule.run, author, start_id)
    return _start_experiment(schedule, author, start_id)


def pooled_of(run: Run) -> Run | None:
    """Return the run through a pooler that a pair repeats: this one, or the other of its group; None without any."""
    if _is_pooled(run):
        return run
    others = Run.objects.filter(group=run.group, group__isnull=False).order_by("number")
    return next(filter(_is_pooled, others), None)


def _is_pooled(run: Run) -> bool:
    return run.pool_id is not None or (run.external is not None and run.external.cluster_id is not None)


def _start_runs(schedule: Schedule, run: Run, author: User, start_id: uuid.UUID) -> Run:
    request = again.request_of(run, author, Access(author), start_id)
    confirm = run.database if schedule.consented_at else ""
    return submit.submit(replace(request, repeat=schedule.repeat, pair=schedule.pair, confirm=confirm))[0]


def _start_experiment(schedule: Schedule, author: User, start_id: uuid.UUID) -> Experiment:
    experiment = schedule.repeated
    if not isinstance(experiment, Experiment) or experiment.cluster is None:
        raise Refused(_("what %(repeated)s loads was removed") % {"repeated": experiment})
    confirm = experiment.cluster.name if schedule.consented_at else ""
    if experiment.advice:
        repetition = Repetition(experiment=experiment, author=author, confirm=confirm, experiment_id=start_id)
        return again_asked.ask_again(repetition)
    request = experiments.request_again(
        experiment, author, confirm, is_admin=user_holds(author, Scope.ADMIN), access=Access(author)
    )
    return experiments.start(replace(request, experiment_id=start_id))
