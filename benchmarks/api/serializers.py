"""Runs, their samples and their output as JSON."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from benchmarks.api.example_values import GROUP, OPTIONS, RUN
from benchmarks.models import Gate, Run, RunOutput, Sample, Validity, metrics
from benchmarks.models import thresholds as run_thresholds
from benchmarks.models.summaries import Summary
from benchmarks.runs.live import events
from core.rest.compiled import CompiledSerializer
from pools.api.example_values import CLUSTER, POOL


class TargetSerializer(CompiledSerializer):
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

    example: dict[str, object] = {
        "cluster": CLUSTER,
        "database": "orders",
        "pool": POOL,
        "external": None,
        "pooled_by": "",
        "label": "pgbouncer-1/orders",
        "removed": "",
    }


class StageSerializer(serializers.Serializer[Any]):
    """The figures of one stage: what was asked for, when it began, and all that its process printed.

    `status` and figures are absent until it has ended.
    """

    clients = serializers.IntegerField()
    duration_s = serializers.IntegerField()
    rate = serializers.FloatField(required=False, help_text=_("Transactions a second, if the stage has a rate"))
    began_s = serializers.FloatField(help_text=_("On the clock of the run, as `t` of its samples"))
    status = serializers.CharField(required=False)
    error = serializers.CharField(required=False, help_text=_("Why it did not end well"))
    tps = serializers.FloatField(required=False, allow_null=True)
    latency_avg_ms = serializers.FloatField(required=False, allow_null=True)
    latency_p95_ms = serializers.FloatField(required=False, help_text=_("If enough transactions were logged"))
    transactions = serializers.IntegerField(required=False)
    failed = serializers.IntegerField(required=False)

    example: dict[str, object] = {"clients": 10, "duration_s": 30, "began_s": 0.0, "status": "succeeded", "error": ""}


class SummarySerializer(CompiledSerializer):
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
    stages = StageSerializer(
        many=True,
        required=False,
        help_text=_("If the load has stages: those that have begun. The other figures are then sums and means of all"),
    )

    example: dict[str, object] = {
        "tps": 1261.63,
        "tps_including_connections": 1260.91,
        "latency_avg_ms": 7.926,
        "latency_stddev_ms": 2.114,
        "latency_p50_ms": 7.4,
        "latency_p90_ms": 10.6,
        "latency_p95_ms": 12.1,
        "latency_p99_ms": 16.8,
        "latency_p99_9_ms": 24.9,
        "latency_samples": 37849,
        "transactions": 37849,
        "failed": 0,
        "retried": None,
        "initial_connection_ms": None,
        "average_connection_ms": 3.108,
        "effective_clients": 10.0,
        "stages": [],
    }

    def to_representation(self, summary: Summary) -> dict[str, object]:
        return {**super().to_representation(summary), **summary}


class ThresholdSerializer(serializers.Serializer[Any]):
    """A limit for a figure, `at_least` or `at_most`; `value` and `passed` follow once the run has ended."""

    metric = serializers.ChoiceField(list(metrics.THRESHOLDS))
    at_least = serializers.FloatField(required=False)
    at_most = serializers.FloatField(required=False)
    abort_after_s = serializers.FloatField(
        required=False, help_text=_("The run ends early once its intervals have missed it for so many seconds")
    )
    value = serializers.FloatField(read_only=True, allow_null=True)
    passed = serializers.BooleanField(read_only=True, allow_null=True)

    example: dict[str, object] = {"metric": "tps", "at_least": 1000.0, "value": 1261.63, "passed": True}


class RunSerializer(CompiledSerializer, serializers.ModelSerializer[Run]):
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

    example: dict[str, object] = {
        "id": RUN,
        "number": 12,
        "name": "orders, pooled",
        "group": GROUP,
        "engine": "pgbench",
        "options": OPTIONS,
        "status": "succeeded",
        "reasons": [],
        "command": ["pgbench", "-n", "-b", "select-only", "-c", "10", "-j", "2", "-T", "30", "-C"],
        "generator": "local",
        "generators": [],
        "parent": None,
        "parts": [],
        "progress_percent": None,
        "started_at": "2026-03-05T16:00:01Z",
        "finished_at": "2026-03-05T16:00:32Z",
        "exit_code": 0,
        "statements": [],
        "conditions": {"ping": {"count": 10, "min_ms": 0.21, "avg_ms": 0.26, "max_ms": 0.44, "connect_ms": 4.8}},
        "note": "",
        "tags": ["nightly"],
        "client_version": "17.6",
        "server_version": "17.6",
    }

    @extend_schema_field(ThresholdSerializer(many=True))
    def get_thresholds(self, run: Run) -> list[dict[str, object]]:
        """Return the thresholds with the measured value; `passed` is null until the run has ended."""
        judged = run_thresholds.judge(run.thresholds, run.summary)
        return [one.as_json() | ({} if run.is_final else {"passed": None}) for one in judged]

    @extend_schema_field(TargetSerializer())
    def get_target(self, run: Run) -> Mapping[str, object]:
        return TargetSerializer(run).data


class SampleSerializer(CompiledSerializer, serializers.ModelSerializer[Sample]):
    """One progress interval; `t` in seconds since the load began, null if the program did not print it."""

    class Meta:
        model = Sample
        fields = list(events.SAMPLE_FIELDS)

    example: dict[str, object] = {
        "tps": 1258.0,
        "latency_ms": 7.94,
        "stddev_ms": 2.1,
        "lag_ms": None,
        "skipped": None,
        "retried": None,
        "retries": None,
        "latency_p50_ms": None,
        "latency_p95_ms": None,
        "latency_p99_ms": None,
    }


class WaitingSerializer(serializers.Serializer[Any]):
    """Why a queued run has not started yet: the run before it with its seconds left, and the reasons as sentences."""

    run = serializers.UUIDField(source="run.pk", default=None, allow_null=True)
    left_s = serializers.FloatField(allow_null=True)
    ahead = serializers.IntegerField(help_text=_("Number of queued runs before this one"))
    sentences = serializers.ListField(child=serializers.CharField())

    example: dict[str, object] = {
        "run": RUN,
        "left_s": 18.0,
        "ahead": 1,
        "sentences": ["Run 12 on the same target ends in about 18 s."],
    }


class LogSerializer(serializers.ModelSerializer[RunOutput]):
    """The program's output; `truncated` if it exceeded the size limit."""

    class Meta:
        model = RunOutput
        fields = ["stdout", "stderr", "truncated"]

    example: dict[str, object] = {
        "stdout": "tps = 1261.632871 (without initial connection time)\n",
        "stderr": "",
        "truncated": False,
    }
