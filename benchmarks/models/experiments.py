"""Experiments: a playbook carried out on a cluster, the runs of its arms, and what was made for it alone."""

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import TypeAlias, Unpack, cast

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from benchmarks.models.advice import AdviceRecord
from benchmarks.models.columns import ExperimentColumns
from benchmarks.models.numbering import NumberedQuerySet
from benchmarks.models.options import DatasetOptions
from core.accounts.access import Access
from core.accounts.models import FIRST_TEAM, OwnedByTeam, Team
from core.lib import database_clock
from pools.models import Cluster, Pooler

LEASE = timedelta(seconds=30)
Options: TypeAlias = Mapping[str, object]
Plan: TypeAlias = list[list[str]]
Texts: TypeAlias = dict[str, str]


class Playbook(OwnedByTeam):
    """A playbook that a user added; the built-in ones are files."""

    address_field = "name"

    name = models.SlugField(max_length=40, unique=True)
    text = models.TextField()  # TOML, as it was given
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ExperimentState(models.TextChoices):
    """States of an experiment, from the queue to one of `ENDED`."""

    QUEUED = "queued", _("queued")
    RUNNING = "running", _("running")
    SUCCEEDED = "succeeded", _("succeeded")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


ENDED = frozenset({ExperimentState.SUCCEEDED, ExperimentState.FAILED, ExperimentState.CANCELLED})


class Phase(models.TextChoices):
    """The phases of a running experiment."""

    SETUP = "setup", _("preparing")
    MEASURE = "measure", _("measuring")
    TEARDOWN = "teardown", _("cleaning up")


class ExperimentQuerySet(NumberedQuerySet["Experiment"]):
    """Making and claiming experiments."""

    def unfinished(self) -> "ExperimentQuerySet":
        """Those that go on, or whose own resources are not removed yet."""
        unremoved = Q(resources__removed_at=None, resources__isnull=False)
        return self.filter(~Q(state__in=ENDED) | unremoved).distinct().order_by("number")

    def of_team(self, team: uuid.UUID) -> "ExperimentQuerySet":
        """Return those that belong to a team, by `owner`."""
        return self.filter(Q(cluster__team=team) | Q(cluster=None, team=team))

    def measuring(self) -> "ExperimentQuerySet":
        """Those that submit runs: neither set up yet, nor at their end."""
        return self.filter(state=ExperimentState.RUNNING, phase=Phase.MEASURE, cancel_requested_at=None)

    def claim(self, pk: uuid.UUID) -> "Experiment | None":
        """Lease the experiment to this worker; None while another worker has it."""
        free = self.filter(pk=pk).filter(Q(lease_until=None) | Q(lease_until__lt=Now()))
        return self.get(pk=pk) if free.update(lease_until=database_clock.after(LEASE)) else None


class Experiment(models.Model):
    """A playbook carried out: its arms in interleaved blocks, then compared.

    It belongs to the team of its cluster, and to `team` once that is removed.
    """

    belongs_to = ("owner",)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    number = models.PositiveIntegerField(unique=True)
    playbook = models.CharField(max_length=40, db_index=True)  # its name
    definition = models.TextField()  # the playbook's TOML as it was when the experiment was started
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.SET_NULL, related_name="experiments")
    cluster_name = models.CharField(max_length=100, default="")  # kept when the cluster is gone
    team: "models.ForeignKey[Team | uuid.UUID | None, Team | None]" = models.ForeignKey(
        Team, null=True, default=FIRST_TEAM, db_default=FIRST_TEAM, on_delete=models.SET_NULL, related_name="+"
    )
    pooler = models.ForeignKey(Pooler, null=True, on_delete=models.SET_NULL, related_name="experiments")
    generators: "models.JSONField[list[str], list[str]]" = models.JSONField(default=list)
    quick = models.BooleanField(default=True)
    repeats = models.PositiveIntegerField(default=3)  # blocks; the most of them in sequential mode
    minutes = models.PositiveIntegerField(null=True)  # sequential mode: the budget
    seconds = models.PositiveIntegerField(null=True)  # the same in seconds, of quick forms
    wanted_blocks = models.PositiveIntegerField(default=0)  # measured in any case: somebody asked for more of them
    seed = models.PositiveIntegerField(default=0)
    # options that replace the playbook's, such as a shorter duration
    overrides: "models.JSONField[Options, Options]" = models.JSONField(default=dict)
    # the options that its tables are made with
    dataset: "models.JSONField[DatasetOptions, DatasetOptions]" = models.JSONField(default=dict)
    # arm keys in the order in which their runs go, a list for each block
    plan: "models.JSONField[Plan, Plan]" = models.JSONField(default=list)
    step = models.PositiveIntegerField(default=0)  # runs of the plan that have been submitted
    # the request and the result of a sweep for a pool
    advice: "models.JSONField[AdviceRecord, AdviceRecord]" = models.JSONField(default=dict)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    by_admin = models.BooleanField(default=False)  # Its starter held the scope admin.

    state = models.CharField(
        max_length=10, choices=ExperimentState.choices, default=ExperimentState.QUEUED, db_index=True
    )
    phase = models.CharField(max_length=10, choices=Phase.choices, default=Phase.SETUP)
    # the state it gets after teardown
    outcome = models.CharField(max_length=10, choices=ExperimentState.choices, default="", blank=True)
    reasons: "models.JSONField[list[str], list[str]]" = models.JSONField(default=list)
    skipped: "models.JSONField[Texts, Texts]" = models.JSONField(default=dict)  # why an arm is not measured, by its key
    # settings in force for every run, besides the profile of its arm
    server_settings: "models.JSONField[Texts, Texts]" = models.JSONField(default=dict)
    # deviations from the playbook, in sentences
    notes: "models.JSONField[list[str], list[str]]" = models.JSONField(default=list)
    lease_until = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    measuring_at = models.DateTimeField(null=True)  # the time of the first submitted run
    finished_at = models.DateTimeField(null=True)

    objects = ExperimentQuerySet.as_manager()

    class Meta:
        ordering = ["-number"]

    def __str__(self) -> str:
        return gettext("experiment %(number)s") % {"number": self.number}

    @property
    def owner(self) -> Cluster | Team | None:
        """The record whose team it belongs to; None where that team is gone too."""
        return self.cluster or self.team

    @property
    def owning_team(self) -> Team | None:
        """The team of its `owner`; None where that is gone."""
        return cast("Team", self.cluster.team) if self.cluster else self.team

    @classmethod
    def visible_to(cls, access: Access) -> Q:
        """Return the condition for experiments that a caller may see: those on what they may see, by `owner`."""
        cluster = Q(cluster__in=access.visible(Cluster.objects.all()).values("pk"))
        return cluster | Q(cluster=None, team__in=list(access.roles))

    @property
    def has_ended(self) -> bool:
        """True if its state is final."""
        return self.state in ENDED

    @property
    def budget(self) -> timedelta | None:
        """The time within which blocks go on until the figures suffice; None where their number was given."""
        if self.minutes is None and self.seconds is None:
            return None
        return timedelta(minutes=self.minutes or 0, seconds=self.seconds or 0)

    @property
    def is_sequential(self) -> bool:
        """True if what was found decides how much is measured: by itself, or because somebody asked for more."""
        return self.budget is not None or self.wanted_blocks > 0

    @property
    def has_whole_blocks(self) -> bool:
        """True if its arms are compared block by block; a sweep of sizes is judged by the means of its cells."""
        return bool(self.advice.get("question") != "size")

    @property
    def is_still_asked_for(self) -> bool:
        """True if blocks are left of those that somebody asked for."""
        return self.step < self.wanted_blocks * len(self.plan[0])

    def renew(self, lasting: timedelta = LEASE) -> None:
        """Keep the lease for another while."""
        Experiment.objects.filter(pk=self.pk).update(lease_until=database_clock.after(lasting))

    def release(self) -> None:
        """Let any worker go on with it."""
        Experiment.objects.filter(pk=self.pk).update(lease_until=None)

    def write(self, **values: Unpack[ExperimentColumns]) -> None:
        """Save these columns and no others."""
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=list(values))

    def tear_down(self, outcome: ExperimentState, *reasons: str) -> None:
        """Go on to the removal of what was made; the outcome becomes the state once nothing is left."""
        self.write(phase=Phase.TEARDOWN, outcome=outcome, reasons=[*self.reasons, *reasons])

    def finish(self) -> None:
        """End with the outcome that teardown was asked for with."""
        self.write(state=self.outcome or ExperimentState.FAILED, finished_at=timezone.now())

    def request_cancel(self) -> bool:
        """Ask for its end; False where it had ended or is being removed already."""
        uncancelled = Experiment.objects.filter(pk=self.pk, cancel_requested_at=None).exclude(state__in=ENDED)
        done = uncancelled.exclude(phase=Phase.TEARDOWN).update(cancel_requested_at=timezone.now())
        self.refresh_from_db()
        return bool(done)


class ResourceKind(models.TextChoices):
    """The kinds of objects that an experiment creates for itself."""

    ROLE = "role", _("role")
    DATABASE = "database", _("database")
    POOL = "pool", _("pool")
    PROFILE = "profile", _("settings profile")


class ExperimentResource(models.Model):
    """Something that was made for an experiment alone; written down before it is made, so that nothing is left."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="resources")
    kind = models.CharField(max_length=10, choices=ResourceKind.choices)
    key = models.CharField(max_length=60)  # the arms' key for it
    name = models.CharField(max_length=100)  # its name on the cluster, on the pooler or in the panel
    record = models.UUIDField(null=True)  # the pool's or the profile's id
    made_at = models.DateTimeField(null=True)
    removed_at = models.DateTimeField(null=True)
    error = models.TextField(default="")  # why its first apply was refused, or why it could not be removed yet

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["experiment", "kind", "key"], name="one_resource_of_a_kind_and_key")
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.name}"
