"""Serializers of runs, samples and generators; submission checks the rules."""

from collections.abc import Mapping
from typing import Any, TypedDict
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from benchmarks.engines import DEFAULT_ENGINE, ENGINES
from benchmarks.generators.registry import GeneratorStatus
from benchmarks.models import Gate, Purpose, Run, RunOutput, Sample, Validity, metrics
from benchmarks.models import thresholds as run_thresholds
from benchmarks.models.summaries import Summary
from benchmarks.models.thresholds import Threshold
from benchmarks.results import annotations
from benchmarks.runs.live import events
from benchmarks.runs.submission.submit import MOST_REPEATS
from benchmarks.targets.resolve import RequestedTarget
from core.lib.known_fields import KnownFields
from pools.models import Host


class TargetSerializer(serializers.Serializer[Run]):
    """The target of a run: a database of a cluster, or a pool; `removed` names a deleted one, `label` always stays."""

    cluster = serializers.UUIDField(source="cluster_id", allow_null=True)
    database = serializers.CharField(allow_blank=True)
    pool = serializers.UUIDField(source="pool_id", allow_null=True)
    external = serializers.UUIDField(source="external_id", allow_null=True)
    pooled_by = serializers.CharField(
        allow_blank=True, help_text=_("The pooler of an external endpoint, as registered")
    )
    label = serializers.CharField(source="target_label")  # type: ignore[assignment]  # DRF removes fields from the class
    removed = serializers.CharField(allow_blank=True)


class SummarySerializer(serializers.Serializer[Summary]):
    """The figures of the whole run: these always (null if the program printed none), then all others it printed."""

    tps = serializers.FloatField(allow_null=True)
    tps_including_connections = serializers.FloatField(allow_null=True)
    latency_avg_ms = serializers.FloatField(allow_null=True)
    latency_stddev_ms = serializers.FloatField(allow_null=True)
    latency_p50_ms = serializers.FloatField(allow_null=True)
    latency_p90_ms = serializers.FloatField(required=False)
    latency_p95_ms = serializers.FloatField(allow_null=True)
    latency_p99_ms = serializers.FloatField(allow_null=True)
    latency_p99_9_ms = serializers.FloatField(required=False)
    latency_samples = serializers.IntegerField(
        required=False, help_text=_("Transactions behind the percentiles; fewer than 10,000 make a p99 rough")
    )
    transactions = serializers.IntegerField(allow_null=True)
    failed = serializers.IntegerField(allow_null=True)
    retried = serializers.IntegerField(allow_null=True)
    initial_connection_ms = serializers.FloatField(allow_null=True)
    average_connection_ms = serializers.FloatField(allow_null=True)
    effective_clients = serializers.FloatField(allow_null=True)

    def to_representation(self, summary: Summary) -> dict[str, object]:
        return {**super().to_representation(summary), **summary}


class ThresholdSerializer(serializers.Serializer[Any]):
    """A limit for a figure, `at_least` or `at_most`; `value` and `passed` follow once the run has ended."""

    metric = serializers.ChoiceField(list(metrics.THRESHOLDS))
    at_least = serializers.FloatField(required=False)
    at_most = serializers.FloatField(required=False)
    value = serializers.FloatField(read_only=True, allow_null=True)
    passed = serializers.BooleanField(read_only=True, allow_null=True)


@extend_schema_field(ThresholdSerializer(many=True))
class ThresholdsField(serializers.ListField):
    """Thresholds as they were sent; benchmarks.models.thresholds checks them."""

    def to_internal_value(self, raw: list[object]) -> list[Threshold]:
        try:
            return run_thresholds.read(super().to_internal_value(raw))
        except run_thresholds.InvalidThresholds as error:
            raise serializers.ValidationError(error.errors) from error


class RunSerializer(serializers.ModelSerializer[Run]):
    """A run; `validity` is empty until it has ended, runs that were started together share `group`."""

    target = serializers.SerializerMethodField()
    validity = serializers.ChoiceField(Validity.choices, read_only=True, allow_blank=True)
    gate = serializers.ChoiceField(
        Gate.choices, read_only=True, allow_blank=True, help_text=_("Empty without thresholds, and until it has ended")
    )
    summary = SummarySerializer(read_only=True)
    options = serializers.DictField(read_only=True)
    reasons = serializers.ListField(child=serializers.CharField(), read_only=True)
    command = serializers.ListField(child=serializers.CharField(), read_only=True)
    statements = serializers.ListField(child=serializers.DictField(), read_only=True)
    conditions = serializers.DictField(
        read_only=True,
        help_text=_("Actions and measurements before and around the load: `ping`, `meanwhile` and others"),
    )
    generators = serializers.ListField(
        source="wanted_generators",
        child=serializers.CharField(),
        read_only=True,
        help_text=_("As requested; empty: any"),
    )
    thresholds = serializers.SerializerMethodField()
    tags: Any = serializers.SlugRelatedField(many=True, read_only=True, slug_field="name")
    parts: Any = serializers.PrimaryKeyRelatedField(
        many=True, read_only=True, help_text=_("One per generator, if the run is distributed")
    )

    class Meta:
        model = Run
        fields = [
            "id",
            "number",
            "name",
            "purpose",
            "group",
            "engine",
            "target",
            "options",
            "status",
            "validity",
            "reasons",
            "command",
            "generator",
            "generators",
            "alongside",
            "parent",
            "parts",
            "attempt",
            "progress_percent",
            "created_at",
            "started_at",
            "finished_at",
            "exit_code",
            "error",
            "summary",
            "statements",
            "conditions",
            "thresholds",
            "gate",
            "note",
            "tags",
            "is_baseline",
            "client_version",
            "server_version",
        ]
        read_only_fields = fields

    @extend_schema_field(ThresholdSerializer(many=True))
    def get_thresholds(self, run: Run) -> list[dict[str, object]]:
        """Return the thresholds with the measured value; `passed` is null until the run has ended."""
        judged = run_thresholds.judge(run.thresholds, run.summary)
        return [
            {"metric": one.metric, one.bound: one.limit, "value": one.value, "passed": one.passed}
            | ({} if run.is_final else {"passed": None})
            for one in judged
        ]

    @extend_schema_field(TargetSerializer())
    def get_target(self, run: Run) -> Mapping[str, object]:
        return TargetSerializer(run).data


class AskedTargetSerializer(serializers.Serializer[Any]):
    """`{cluster, database, user}`, `{pool, user}`, `{entry, user}` or `{external}`; see benchmarks.targets.resolve."""

    cluster = serializers.UUIDField(required=False)
    database = serializers.CharField(required=False)
    user = serializers.CharField(
        required=False, help_text=_("A role that the panel knows; default: the pool's user, or the cluster's admin")
    )
    pool = serializers.UUIDField(required=False)
    external = serializers.UUIDField(
        required=False, help_text=_("An endpoint of `external-endpoints/`; needs no other field")
    )
    entry = serializers.UUIDField(
        required=False, help_text=_("An entry of a pooler whose login was given at `entries/{id}/endpoint/`")
    )


@extend_schema_field(AskedTargetSerializer())
class AskedTargetField(serializers.DictField):
    """The target as it was sent, so that an unknown key is reported instead of dropped."""


class AskedRun(TypedDict):
    """The body of a request for runs, once it is validated."""

    target: RequestedTarget
    engine: str
    options: dict[str, object]
    purpose: str
    name: str
    tags: list[str]
    confirm: str
    pair: bool
    repeat: int
    generators: list[str]
    alongside: bool
    thresholds: list[Threshold]


class AskedRunSerializer(KnownFields):
    """A request for a run: each engine has options of its own. pgbench executes a request without `engine`."""

    target = AskedTargetField()
    engine = serializers.ChoiceField(list(ENGINES), default=DEFAULT_ENGINE)
    options = serializers.DictField(
        default=dict,
        help_text=_(
            "Named after the program's own options, beside the panel's; loads and datasets have different ones"
        ),
    )
    purpose = serializers.ChoiceField(
        [(Purpose.LOAD.value, _("load")), (Purpose.PREPARE.value, _("prepare a dataset (options: scale)"))],
        default=Purpose.LOAD.value,
    )
    name = serializers.CharField(default="", allow_blank=True, max_length=200)
    tags = serializers.ListField(child=serializers.CharField(), default=list, help_text=_("Labels for finding runs"))
    confirm = serializers.CharField(
        default="",
        allow_blank=True,
        help_text=_("The name of the cluster or database, if a run that writes requires it"),
    )
    pair = serializers.BooleanField(
        default=False,
        help_text=_(
            "For a pool, or an external endpoint with a cluster: the same load on the cluster first, then "
            "pooled, in one group; with `repeat` so many pairs, each second one turned round (direct, pooled, pooled, "
            "direct)"
        ),
    )
    repeat = serializers.IntegerField(
        default=1,
        min_value=1,
        max_value=MOST_REPEATS,
        help_text=_("Number of such runs or pairs, one after the other in a group"),
    )
    generators = serializers.ListField(
        child=serializers.CharField(),
        default=list,
        help_text=_(
            "Names of the generators that execute it; empty, or `any`: any free one. With several, each executes a "
            "part of the load and all start at the same moment: `clients` and `rate` are totals and are split (a "
            "remainder goes to the first named, one client each), every other option holds for each generator"
        ),
    )
    alongside = serializers.BooleanField(
        default=False,
        help_text=_("Start even if another run uses the target or the generator: they distort each other's figures"),
    )

    thresholds = ThresholdsField(
        child=serializers.JSONField(),
        default=list,
        help_text=_(
            "Limits that the figures must meet for the run's `gate` to be `passed`; a run that is not valid fails"
        ),
    )

    def validate_tags(self, tags: list[str]) -> list[str]:
        """Remove repeated tags and keep the order."""
        try:
            return annotations.check_tags(tags)
        except annotations.InvalidNote as error:
            raise serializers.ValidationError(error.errors["tags"]) from None

    def validate(self, asked: AskedRun) -> AskedRun:
        if asked["pair"] and asked["purpose"] != Purpose.LOAD:
            raise serializers.ValidationError({"pair": [_("only loads can be paired: leave out purpose")]})
        return asked


class AskedImport(TypedDict, total=False):
    """The body of an import, once it is validated: one of `text` and `file`."""

    text: str
    file: "UploadedFile[bytes]"
    name: str


class ImportSerializer(KnownFields):
    """Output of any pgbench or sysbench, standard output and error together: as `text`, or as the `file` of a form."""

    text = serializers.CharField(trim_whitespace=False, required=False)
    file = serializers.FileField(required=False, write_only=True)
    name = serializers.CharField(default="", allow_blank=True, max_length=200)

    def validate(self, attrs: AskedImport) -> AskedImport:
        if len({"text", "file"} & set(attrs)) != 1:
            text = _("send the output as text in JSON, or as file in multipart/form-data")
            raise serializers.ValidationError({"text": [text]})
        return attrs


class SampleSerializer(serializers.ModelSerializer[Sample]):
    """One progress interval; `t` in seconds since the load began, null if the program did not print it."""

    class Meta:
        model = Sample
        fields = list(events.SAMPLE_FIELDS)


class WaitingSerializer(serializers.Serializer[Any]):
    """Why a queued run has not started yet: the run before it with its seconds left, and the reasons as sentences."""

    run = serializers.UUIDField(source="run.pk", default=None, allow_null=True)
    left_s = serializers.FloatField(allow_null=True)
    ahead = serializers.IntegerField(help_text=_("Number of queued runs before this one"))
    sentences = serializers.ListField(child=serializers.CharField())


class LogSerializer(serializers.ModelSerializer[RunOutput]):
    """The program's output; `truncated` if it exceeded the size limit."""

    class Meta:
        model = RunOutput
        fields = ["stdout", "stderr", "truncated"]


class RoundTripSerializer(serializers.Serializer[Any]):
    """Round trip of `SELECT 1` from a generator to a cluster, or the error."""

    min_ms = serializers.FloatField(required=False)
    avg_ms = serializers.FloatField(required=False)
    max_ms = serializers.FloatField(required=False)
    connect_ms = serializers.FloatField(required=False)
    error = serializers.CharField(required=False)


class HostGeneratorSerializer(KnownFields):
    """A host that is to be a generator."""

    ssh_host = serializers.PrimaryKeyRelatedField(queryset=Host.objects.all(), help_text=_("A checked host's id"))
    name = serializers.CharField(max_length=63, default="", allow_blank=True, help_text=_("Empty: the host's name"))


class GeneratorSerializer(serializers.Serializer[Any]):
    """A worker that executes runs, with its engines and current runs.

    `cores` and `engines` are null until its first report, which it sends at start and every few minutes.
    """

    name = serializers.CharField()
    kind = serializers.SerializerMethodField(help_text=_("`worker`, or `ssh` for a host that workers reach by SSH"))
    ssh_host = serializers.UUIDField(source="ssh_host.pk", default=None, allow_null=True)
    fault = serializers.CharField(help_text=_("Why the host can't be used, by its last check; empty: it can"))
    script_fault = serializers.CharField(
        help_text=_("Why the host can't be given scripts of one's own, by its last check; empty: it can")
    )
    last_seen_at = serializers.DateTimeField()
    alive = serializers.BooleanField(help_text=_("Whether its last heartbeat is less than 15 seconds old"))
    started_at = serializers.DateTimeField(allow_null=True)
    host = serializers.CharField(allow_blank=True)
    cores = serializers.IntegerField(allow_null=True)
    engines = serializers.DictField(
        child=serializers.CharField(), allow_null=True, help_text=_("Engine → version of the program found there")
    )
    files = serializers.DictField(
        child=serializers.DictField(child=serializers.CharField(allow_blank=True)),
        allow_null=True,
        help_text=_(
            "Engine → file of that host that runs may name (a JMeter plan, tpcc's script) → why it can't be used "
            "(empty: it can); null until it has reported"
        ),
    )
    round_trips = serializers.DictField(child=RoundTripSerializer(), help_text=_("By a cluster's id"))
    queue = serializers.CharField(help_text=_("The Celery queue of this generator alone"))
    run = serializers.UUIDField(source="run.pk", default=None, allow_null=True)
    runs = serializers.SerializerMethodField(help_text=_("Runs that it executes now; several only with `alongside`"))
    queued = serializers.IntegerField(help_text=_("Runs that wait for this generator by name"))

    def get_kind(self, generator: GeneratorStatus) -> str:
        """Return whether a worker or SSH carries its runs."""
        return "ssh" if generator.ssh_host else "worker"

    def get_runs(self, generator: GeneratorStatus) -> list[UUID]:
        """Return the ids, earliest run first."""
        return [run.pk for run in generator.runs]
