"""Schedules: a run, a pair or an experiment that is repeated at the times of a cron line, and what became of each."""

import uuid
from datetime import datetime, timedelta
from typing import TypedDict, Unpack

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from benchmarks.models.endpoints import ExternalEndpoint
from benchmarks.models.experiments import Experiment
from benchmarks.models.runs import Run, RunQuerySet
from core.lib.choice_labels import ChoiceLabels
from pools.models import Cluster

USUAL_DEADLINE = 60  # minutes


class ScheduleQuerySet(models.QuerySet["Schedule"]):
    """Finding the schedules that are to start."""

    def due(self, now: datetime) -> "ScheduleQuerySet":
        """Return those whose time has come, the earliest first."""
        return self.filter(due_at__lte=now, paused_at=None).order_by("due_at")


class Schedule(models.Model):
    """What is started again at the times of a cron line in a time zone, with the rights of whoever saved it last.

    `due_at` is its next time; None while it is paused. `consented_at` is when an owner agreed to loads of a protected
    cluster; each change of the schedule asks for that again.
    """

    belongs_to = ("run", "experiment")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="schedules")
    experiment = models.ForeignKey(Experiment, null=True, on_delete=models.CASCADE, related_name="schedules")
    pair = models.BooleanField(default=False)  # the run past the pooler and through it
    repeat = models.PositiveIntegerField(default=1)  # runs or pairs that are started each time
    cron = models.CharField(max_length=100)
    time_zone = models.CharField(max_length=64)
    starting_deadline_minutes = models.PositiveIntegerField(default=USUAL_DEADLINE)
    notify_on_change = models.BooleanField(default=True, db_default=True)  # of a level that changes for the worse
    weekly_summary = models.BooleanField(default=True, db_default=True)  # it is in the weekly summary
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    paused_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True, db_index=True, editable=False)
    consented_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    consented_at = models.DateTimeField(null=True)

    objects = ScheduleQuerySet.as_manager()

    class Meta:
        ordering = ["name", "created_at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(run__isnull=True, experiment__isnull=False) | Q(run__isnull=False, experiment__isnull=True),
                name="a_schedule_repeats_a_run_or_an_experiment",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def repeated(self) -> Run | Experiment:
        """The run or the experiment that it starts again."""
        found = self.run or self.experiment
        if found is None:
            raise TypeError(f"schedule {self.pk} repeats nothing")
        return found

    @property
    def owner(self) -> ExternalEndpoint | Cluster | None:
        """The record that is loaded, whose team decides; None where it was removed."""
        return (self.run.external or self.run.cluster) if self.run else self.repeated.cluster

    @property
    def cluster(self) -> Cluster | None:
        """The cluster that is loaded; None where it is not registered, or was removed."""
        external = self.run.external if self.run else None
        return external.cluster if external else self.repeated.cluster

    @property
    def needs_consent(self) -> bool:
        """True while nothing starts because no owner has agreed to loads of the protected cluster."""
        cluster = self.cluster
        return cluster is not None and cluster.protected and self.consented_at is None

    @property
    def starting_deadline(self) -> timedelta:
        """The time after which what has not begun is not begun any more."""
        return timedelta(minutes=self.starting_deadline_minutes)


class StartState(models.TextChoices):
    """States of a scheduled start."""

    CLAIMED = "claimed", _("starting")
    STARTED = "started", _("started")
    MISSED = "missed", _("missed")


class StartColumns(TypedDict, total=False):
    """The columns that the end of a start sets."""

    state: StartState
    reason: str
    run: Run | None
    experiment: Experiment | None


class ScheduledStart(ChoiceLabels):
    """A due time of a schedule, and what became of it; each exists once, so that nothing starts twice.

    Its id becomes that of the run or the experiment. A missed one may stand for several due times: `due_times`.
    """

    belongs_to = ("schedule",)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="starts")
    due_at = models.DateTimeField()
    due_times = models.PositiveIntegerField(default=1)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")  # by hand
    state = models.CharField(max_length=10, choices=StartState.choices, default=StartState.CLAIMED)
    reason = models.TextField(default="")
    claimed_at = models.DateTimeField()
    judged_at = models.DateTimeField(null=True)  # when its figures were looked at for a change
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="scheduled_starts")
    experiment = models.ForeignKey(Experiment, null=True, on_delete=models.SET_NULL, related_name="scheduled_starts")

    class Meta:
        ordering = ["-due_at"]
        constraints = [models.UniqueConstraint(fields=["schedule", "due_at"], name="one_start_of_a_due_time")]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=Q(judged_at=None, state="started", run__isnull=False),
                name="starts_to_judge",
            )
        ]

    def __str__(self) -> str:
        return gettext("start of %(schedule)s at %(time)s") % {
            "schedule": self.schedule,
            "time": self.due_at.isoformat(timespec="minutes"),
        }

    @property
    def began(self) -> Run | Experiment | None:
        """The run or the experiment that it started; None for a missed one, and once that is removed."""
        return self.run or self.experiment

    @property
    def runs(self) -> RunQuerySet:
        """The runs that it started: the one, or all of its group."""
        if self.run is None:
            return Run.objects.none()
        return Run.objects.filter(group=self.run.group) if self.run.group else Run.objects.filter(pk=self.run.pk)

    @property
    def goes_on(self) -> bool:
        """True while it starts, and until what it started has ended."""
        if self.experiment:
            return not self.experiment.has_ended
        return self.state == StartState.CLAIMED or self.runs.unfinished().exists()

    def miss(self, reason: str) -> None:
        """Note that nothing ran, and why."""
        self._settle(state=StartState.MISSED, reason=reason)

    def note(self, began: Run | Experiment) -> None:
        """Note what was started."""
        if isinstance(began, Run):
            self._settle(state=StartState.STARTED, run=began)
        else:
            self._settle(state=StartState.STARTED, experiment=began)

    def _settle(self, **values: Unpack[StartColumns]) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=list(values))
