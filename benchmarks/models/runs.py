"""Runs: one execution of an engine against one endpoint, from the queue to its final state."""

import uuid
from collections.abc import Iterable
from datetime import timedelta
from typing import Unpack, cast

from django.conf import settings
from django.db import IntegrityError, connection, models, transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext

from benchmarks.errors import Fenced, IllegalTransition
from benchmarks.models import thresholds as run_thresholds
from benchmarks.models.columns import EndColumns, RunColumns
from benchmarks.models.conditions import RunConditions
from benchmarks.models.endpoints import ExternalEndpoint
from benchmarks.models.evidence import RunEvidence
from benchmarks.models.experiments import ExperimentState, Phase
from benchmarks.models.generators import GENERATOR_CHARACTERS, Generator, generator_label
from benchmarks.models.numbering import NumberedQuerySet
from benchmarks.models.options import RunOptions
from benchmarks.models.run_states import ACTIVE, FINAL, Gate, Purpose, Status, Validity
from benchmarks.models.run_visibility import VisibleByOwner
from benchmarks.models.summaries import Statement, Summary
from benchmarks.models.tags import Tag
from benchmarks.models.thresholds import Threshold
from core.accounts.models import FIRST_TEAM, Team
from core.lib import database_clock
from core.lib.choice_labels import ChoiceLabels
from core.lib.lower_text import together
from pools.models import Cluster, Pool

LEASE = timedelta(seconds=15)
# What a search compares: the three texts of a run in one column, which is in small letters already. SQLite compares the
# three themselves: it takes no generated column from an index without its row.
TEXTS = ("name", "target_label", "database")
SEARCHED = ("searched",) if connection.vendor == "postgresql" else TEXTS
OF_OWNERS = ("cluster", "external", "team")  # the columns that tell whether a member sees a run
PART_CLAIMED_WITHIN = timedelta(seconds=30)  # a part by its generator, whose children may all be at work


class RunQuerySet(NumberedQuerySet["Run"]):
    """Creating and claiming runs."""

    def top_level(self) -> "RunQuerySet":
        """Return the runs that people started, without the parts of distributed runs."""
        return self.filter(parent=None)

    def of_people(self) -> "RunQuerySet":
        """Leave out those that an experiment started, which are listed on its page."""
        return self.filter(experiment=None)

    def of_team(self, team: uuid.UUID) -> "RunQuerySet":
        """Return those that belong to a team, by `owner`."""
        cluster, none = Q(external=None, cluster__team=team), Q(external=None, cluster=None)
        return self.filter(Q(external__team=team) | cluster | none & Q(team=team))

    def unfinished(self) -> "RunQuerySet":
        """Return those that have not ended, by the small index of these: most runs have, which a planner can't know."""
        return self.filter(finished_at=None)

    def with_settings_in_force(self) -> "RunQuerySet":
        """Return the runs whose settings stay in force for the next run of their experiment."""
        measuring = {"experiment__state": ExperimentState.RUNNING, "experiment__phase": Phase.MEASURE}
        return self.filter(**measuring, applied_profile__restarted=True, applied_profile__restored_at=None)

    def due(self) -> "RunQuerySet":
        """Return queued runs that may start: cluster and generators are free, and earlier runs of the group have ended.

        A run asked for alongside others waits for its group only. A part never starts by itself. An experiment that
        keeps settings in force between its runs has the cluster for itself.
        """
        active = Run.objects.filter(status__in=ACTIVE)
        there = active.filter(cluster=OuterRef("cluster"))
        on_its_generator = active.filter(generator=OuterRef("generator")).exclude(generator="")
        on_a_parts_generator = Run.objects.filter(parent=OuterRef("pk"), generator__in=active.values("generator"))
        in_force = Run.objects.with_settings_in_force().filter(cluster=OuterRef("cluster"))
        of_its_experiment = in_force.filter(experiment=OuterRef("experiment"))
        has_it = ~Exists(in_force) | Exists(of_its_experiment)
        is_free = ~Exists(there) & ~Exists(on_its_generator) & ~Exists(on_a_parts_generator) & has_it
        earlier_in_group = Run.objects.filter(
            group=OuterRef("group"), group__isnull=False, number__lt=OuterRef("number")
        ).exclude(status__in=FINAL)
        queued = self.filter(status=Status.QUEUED, parent=None)
        return queued.filter(Q(alongside=True) | is_free, ~Exists(earlier_in_group)).order_by("number")

    def claim(self, run_id: str, generator: str) -> "Run | None":
        """Return the run, starting and leased to this generator; None where it is not due, taken, or ended.

        One conditional UPDATE, with unique indexes behind it: a run delivered twice starts once, and a generator or a
        cluster carries one run at a time unless asked otherwise. A distributed run claims all its generators or none:
        its parts start with it, and each is taken up once, by its own generator.
        """
        try:
            with transaction.atomic():
                claimed = self._claim_part(run_id, generator) or self._start_if_due(run_id, generator)
        except IntegrityError:  # another claim for the same cluster or generator was committed first
            return None
        return self.get(pk=run_id) if claimed else None

    def _claim_part(self, part_id: str, generator: str) -> int:
        waits = self.filter(parent__isnull=False, status=Status.STARTING, started_at=None, cancel_requested_at=None)
        values = {"started_at": timezone.now(), "lease_until": database_clock.after(LEASE)}
        return waits.filter(pk=part_id, generator=generator).update(**values)

    def _start_if_due(self, run_id: str, generator: str) -> int:
        run = self.due().filter(pk=run_id, cancel_requested_at=None).first()
        if run is None:
            return 0
        by_ssh = Generator.objects.filter(name__in=[run.generator, generator], ssh_host__isnull=False)
        hosts = set(by_ssh.values_list("name", flat=True))
        if run.generator in hosts:
            generator = run.generator  # any worker carries the run, and the host is the one that is busy with it
        elif generator in hosts:
            return 0  # a worker named as a host by SSH, which would be given the run
        if run.is_spread:  # coordinated by one of them: the others may lack its engine
            return self._start_with_parts(run) if generator in run.wanted_generators else 0
        busy = not run.alongside and Run.objects.filter(status__in=ACTIVE, generator=generator).exists()
        if busy or run.generator not in ("", generator):
            return 0
        started = self._start(run, generator)
        if started and run.group:
            self._keep_group_together(run.group, generator)
        return started

    def _keep_group_together(self, group: uuid.UUID, generator: str) -> None:
        """Bind the group's other runs to the first one's generator, to keep their figures comparable."""
        free = self.filter(group=group, status=Status.QUEUED, generator="", wanted_generators=[], parent=None)
        free.update(generator=generator, wanted_generators=[generator])

    def _start_with_parts(self, run: "Run") -> int:
        started = self._start(run, generator_label(run.wanted_generators))
        if started:
            parts = self.filter(parent=run.pk, status=Status.QUEUED)
            until = database_clock.after(PART_CLAIMED_WITHIN)
            parts.update(status=Status.STARTING, attempt=models.F("attempt") + 1, lease_until=until)
        return started

    def _start(self, run: "Run", generator: str) -> int:
        return self.filter(pk=run.pk, status=Status.QUEUED, cancel_requested_at=None).update(
            status=Status.STARTING,
            generator=generator,
            attempt=models.F("attempt") + 1,
            lease_until=database_clock.after(LEASE),
            started_at=timezone.now(),
        )

    def expired(self) -> "RunQuerySet":
        """Return active runs whose lease ran out: their worker is gone."""
        return self.filter(status__in=ACTIVE, lease_until__lt=Now())


class Run(VisibleByOwner, ChoiceLabels):
    """One execution of an engine; its state is here, never in the queue.

    It belongs to the team of the external endpoint or the cluster that it loads; `team` counts where there is none of
    them: for imported output, and once the target is removed.
    """

    belongs_to = ("owner",)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    number = models.PositiveIntegerField(unique=True)
    name = models.CharField(max_length=200, default="", blank=True)
    purpose = models.CharField(max_length=8, choices=Purpose.choices, default=Purpose.LOAD)
    engine = models.CharField(max_length=12, default="pgbench")  # a name of benchmarks.engines
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.SET_NULL, related_name="runs")
    pool = models.ForeignKey(Pool, null=True, on_delete=models.SET_NULL, related_name="runs")
    external = models.ForeignKey(ExternalEndpoint, null=True, on_delete=models.SET_NULL, related_name="runs")
    # It loads an external endpoint; this stays true once the endpoint is removed.
    is_external = models.BooleanField(default=False)
    pooled_by = models.CharField(max_length=60, default="", blank=True)  # the pooler there, as it was named
    team: "models.ForeignKey[Team | uuid.UUID | None, Team | None]" = models.ForeignKey(
        Team, null=True, default=FIRST_TEAM, db_default=FIRST_TEAM, on_delete=models.SET_NULL, related_name="+"
    )
    database = models.CharField(max_length=63, default="")
    pooled = models.BooleanField(default=False)  # It goes through a pool; this stays true once the pool is gone.
    # the role that a direct run logs in as; empty: the admin
    role = models.CharField(max_length=63, default="", blank=True)
    target_label = models.CharField(max_length=200, default="")  # the name of its target, kept when the target is gone
    searched = together(*TEXTS)
    options: "models.JSONField[RunOptions, RunOptions]" = models.JSONField(default=dict)
    group = models.UUIDField(null=True, db_index=True)  # runs started together, done in order of number
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    by_admin = models.BooleanField(default=False)  # Its starter held the scope admin.
    experiment = models.ForeignKey("benchmarks.Experiment", null=True, on_delete=models.SET_NULL, related_name="runs")
    arm = models.CharField(max_length=100, default="", blank=True)  # the key of its arm there

    # a run over several generators has one part for each of them; only the whole is listed and compared
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="parts")
    wanted_generators: "models.JSONField[list[str], list[str]]" = models.JSONField(default=list)  # names; empty: any
    alongside = models.BooleanField(default=False)  # asked for although others run on its cluster or generator
    ready_at = models.DateTimeField(null=True)  # a part is prepared and waits for the mark
    start_at = models.DateTimeField(null=True)  # the mark on which all parts start

    note = models.TextField(default="", blank=True)
    tags = models.ManyToManyField(Tag, related_name="runs", blank=True)
    is_baseline = models.BooleanField(default=False)  # Other runs on its target are compared with it.
    thresholds: "models.JSONField[list[Threshold], list[Threshold]]" = models.JSONField(default=list)
    gate = models.CharField(max_length=6, choices=Gate.choices, default="", blank=True)

    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED, db_index=True)
    validity = models.CharField(max_length=10, choices=Validity.choices, default="", blank=True)
    reasons: "models.JSONField[list[str], list[str]]" = models.JSONField(default=list)
    error = models.TextField(default="")
    exit_code = models.IntegerField(null=True)
    command: "models.JSONField[list[str], list[str]]" = models.JSONField(default=list)

    generator = models.CharField(max_length=GENERATOR_CHARACTERS, default="", blank=True)  # bound to, or taken by
    attempt = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    requested_rate = models.FloatField(null=True)  # the last one asked for while it ran; 0: without a limit
    requested_rate_stage = models.PositiveSmallIntegerField(null=True)  # the stage it is for, from 1
    progress_percent = models.FloatField(null=True)  # progress of a dataset's creation, or of the idle connections
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    load_began_at = models.DateTimeField(null=True)  # the time at which t = 0
    finished_at = models.DateTimeField(null=True)

    summary: "models.JSONField[Summary, Summary]" = models.JSONField(default=dict)
    statements: "models.JSONField[list[Statement], list[Statement]]" = models.JSONField(default=list)
    client_version = models.CharField(max_length=200, default="")
    server_version = models.CharField(max_length=200, default="")
    # The steps and measurements before and around the load.
    conditions: "models.JSONField[RunConditions, RunConditions]" = models.JSONField(default=dict)
    # settings, revision and hardware as they were when it began
    evidence: "models.JSONField[RunEvidence, RunEvidence]" = models.JSONField(default=dict)

    objects = RunQuerySet.as_manager()

    class Meta:
        ordering = ["-number"]
        indexes = [
            models.Index(fields=["status", "lease_until"]),
            models.Index(fields=["parent", "number"], name="runs_in_order"),  # top-level ones, newest first
            models.Index(fields=["parent", "status", "number"], name="runs_of_a_status"),
            models.Index(fields=["status", "generator"], condition=Q(finished_at=None), name="runs_unfinished"),
            models.Index(fields=["cluster", "pool"], condition=Q(is_baseline=True), name="runs_baselines"),
            models.Index(fields=["id"], condition=Q(error__gt=""), name="runs_with_errors"),
            # Lists leave out the runs of experiments. These have all columns that are counted, searched, or asked by
            # teams, so that lists read the wide rows of one page only.
            models.Index(
                fields=["parent", "experiment", "number", "cluster", "external", "team"], name="runs_of_people"
            ),
            models.Index(
                fields=["parent", "experiment", "status", "number", "purpose"], name="runs_of_people_by_status"
            ),
            models.Index(
                fields=["parent", "experiment", "number", *TEXTS, *OF_OWNERS, "id"], name="runs_searched_sqlite"
            ),
            models.Index(fields=["parent", "experiment", "number", "searched", *OF_OWNERS, "id"], name="runs_searched"),
            # What a member sees is counted by this one; it begins with the cluster: no list of all runs is read in it.
            models.Index(
                fields=["cluster", "external", "parent", "experiment", "status", "team", "purpose"],
                name="runs_of_clusters",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"],
                condition=Q(status__in=["starting", "running"], alongside=False, parent=None),
                name="one_active_run_per_cluster",
            ),
            models.UniqueConstraint(
                fields=["generator"],
                condition=Q(status__in=["starting", "running"], alongside=False),
                name="one_active_run_per_generator",
            ),
        ]

    def __str__(self) -> str:
        return gettext("run %(number)s") % {"number": self.number}

    @property
    def owner(self) -> ExternalEndpoint | Cluster | Team | None:
        """The record whose team it belongs to; None where that team is gone too."""
        return self.external or self.cluster or self.team

    @property
    def owning_team(self) -> Team | None:
        """The team of its `owner`; None where that is gone."""
        owner = self.owner
        return owner if owner is None or isinstance(owner, Team) else cast("Team", owner.team)

    @property
    def is_final(self) -> bool:
        """True if its state is final."""
        return self.status in FINAL

    @property
    def is_silent(self) -> bool:
        """True if it goes on although its lease ran out: its worker hangs, or is cut off from the database."""
        return self.status in ACTIVE and self.lease_until is not None and self.lease_until < timezone.now()

    @property
    def is_spread(self) -> bool:
        """True if it is distributed over several generators."""
        return len(self.wanted_generators) > 1

    @property
    def went_through_pool(self) -> bool:
        """True if its load went through a pool, which may have been removed."""
        return self.pooled or self.pool_id is not None

    @property
    def endpoint_kind(self) -> str:
        """`imported`, `pooled` or `direct`."""
        return "imported" if self.purpose == Purpose.IMPORT else "pooled" if self.went_through_pool else "direct"

    @property
    def removed(self) -> str:
        """The removed target by its former name: `pool shop on pgb1`; empty where it still exists."""
        if self.purpose == Purpose.IMPORT or not self.target_label:
            return ""
        if self.is_external:
            return "" if self.external_id else gettext("external endpoint %(name)s") % {"name": self.target_label}
        if self.pooled and self.pool_id is None:
            return gettext("pool %(name)s") % {"name": self.target_label}
        if self.cluster_id is not None or self.pool_id is not None:
            return ""
        return gettext("cluster %(name)s") % {"name": self.target_label.removesuffix(f"/{self.database}")}

    @property
    def is_unclaimed_part(self) -> bool:
        """True if it is a part that its generator has not taken up yet."""
        return self.parent_id is not None and self.status == Status.STARTING and self.started_at is None

    @property
    def application_name(self) -> str:
        """The application_name of its sessions on the server, unique to the attempt."""
        return f"pooldeck-{self.pk.hex[:12]}-{self.attempt}"

    def current_attempt(self) -> "RunQuerySet":
        """Return this row while this attempt may still write to it."""
        return Run.objects.filter(pk=self.pk, attempt=self.attempt, status__in=ACTIVE)

    def write(self, **values: Unpack[RunColumns]) -> None:
        """Write as the holder of this attempt and renew the lease; raise `Fenced` where the attempt has ended."""
        if not self.current_attempt().update(lease_until=database_clock.after(LEASE), **values):
            raise Fenced(gettext("attempt %(attempt)s of %(run)s has ended") % {"attempt": self.attempt, "run": self})
        for name, value in values.items():
            setattr(self, name, value)

    def finish(self, status: Status, **values: Unpack[EndColumns]) -> bool:
        """Set the one final state; return False where another came first. A queued run can be ended too."""
        if status not in FINAL:
            raise IllegalTransition(gettext("%(status)s is not a final state") % {"status": status})
        open_rows = Run.objects.filter(Q(status=Status.QUEUED) | Q(status__in=ACTIVE), pk=self.pk, attempt=self.attempt)
        return self._end(open_rows, status, **values)

    def mark_lost(self, **values: Unpack[EndColumns]) -> bool:
        """End it as lost if its lease has run out; return False where its worker renewed it or ended it first."""
        return self._end(Run.objects.expired().filter(pk=self.pk, attempt=self.attempt), Status.LOST, **values)

    def _end(self, rows: "RunQuerySet", status: Status, **values: Unpack[EndColumns]) -> bool:
        if self.thresholds:
            values["gate"] = self._gate(status, values)
        done = bool(rows.update(status=status, finished_at=timezone.now(), lease_until=None, **values))
        self.refresh_from_db()
        return done

    def _gate(self, status: Status, values: EndColumns) -> Gate:
        """Return the result of its thresholds for an ending: only reliable figures can pass."""
        valid = status == Status.SUCCEEDED and values.get("validity") == Validity.VALID
        through = run_thresholds.passes(self.thresholds, values.get("summary", self.summary), valid=valid)
        return Gate.PASSED if through else Gate.FAILED

    def set_tags(self, names: Iterable[str]) -> None:
        """Set exactly these tags, and delete tags that no run has any more."""
        self.tags.set([Tag.objects.get_or_create(name=name)[0] for name in dict.fromkeys(names)])
        Tag.objects.filter(runs=None).delete()

    def request_cancel(self) -> bool:
        """Ask for its end: a queued run ends now, an active one at its worker's next check. Safe to repeat.

        Returns True where this call ended it. The parts of a queued run end with it.
        """
        Run.objects.filter(pk=self.pk, cancel_requested_at=None).exclude(status__in=FINAL).update(
            cancel_requested_at=timezone.now()
        )
        self.refresh_from_db()
        is_unclaimed = self.status == Status.QUEUED or self.is_unclaimed_part
        ended = is_unclaimed and self.finish(Status.CANCELLED, error=gettext("cancelled before it started"))
        if ended:
            for part in self.parts.all():
                part.request_cancel()
        return ended
