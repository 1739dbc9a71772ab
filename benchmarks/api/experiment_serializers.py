"""Experiments as JSON: their progress, their arms, and what they recommend."""

from typing import Any, TypedDict

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from benchmarks.api.comparisons import ArmSerializer
from benchmarks.api.example_values import EXPERIMENT
from benchmarks.experiments import results, sequential, tables
from benchmarks.experiments.report import presentation
from benchmarks.experiments.sequential import MOST_BLOCKS_AHEAD
from benchmarks.experiments.tables import ExperimentArmRow
from benchmarks.models import Experiment
from benchmarks.models.advice import RecommendedSize
from pools.api.example_values import CLUSTER, POOLER


class ProgressSerializer(serializers.Serializer[Any]):
    """Runs that have ended of those planned; `eta_s` is null while nobody can know."""

    done = serializers.IntegerField()
    total = serializers.IntegerField()
    eta_s = serializers.FloatField(allow_null=True)

    example: dict[str, object] = {"done": 8, "total": 36, "eta_s": 420.0}


class ProgressAnswer(TypedDict):
    """The progress of an experiment, as the API answers it."""

    done: int
    total: int
    eta_s: float | None


class ExperimentArmSerializer(ArmSerializer):
    """An arm as in a comparison, beside what was published for it."""

    values = serializers.DictField(help_text="The keys of its axis values")
    baseline = serializers.CharField(allow_null=True, help_text="The key of the arm that it is compared with")
    published = serializers.DictField(help_text="The source's figures by metric")
    figures = serializers.DictField(help_text="The median of each of the playbook's metrics")
    derived = serializers.DictField(help_text="Derived columns, such as gain_percent")
    skipped = serializers.CharField(allow_blank=True, help_text="Why it is not measured")

    example: ExperimentArmRow = {
        **ArmSerializer.example,
        "key": "pgbouncer",
        "label": "PgBouncer",
        "values": {"clients": "10", "endpoint": "pgbouncer"},
        "baseline": "none",
        "published": {},
        "figures": {"tps": 1261.63, "latency_avg_ms": 7.926},
        "derived": {"gain_percent": 141.0},
        "skipped": "",
    }


class CellSerializer(serializers.Serializer[Any]):
    """A pool size with a number of clients: means over its valid runs."""

    size = serializers.IntegerField()
    clients = serializers.IntegerField()
    tps = serializers.FloatField()
    latency_avg_ms = serializers.FloatField(allow_null=True)
    runs = serializers.IntegerField(help_text="Valid runs")


class BestSizeSerializer(serializers.Serializer[Any]):
    """The size with the highest mean throughput."""

    size = serializers.IntegerField()
    tps = serializers.FloatField()


class LawSerializer(serializers.Serializer[Any]):
    """The coefficients of the Universal Scalability Law, fitted to the throughputs."""

    rate = serializers.FloatField(help_text="Of one connection, per second")
    contention = serializers.FloatField()
    coherency = serializers.FloatField()


class RecommendationSerializer(serializers.Serializer[Any]):
    """The recommended size of a pool, and the figures it was derived from."""

    size = serializers.IntegerField()
    reserve = serializers.IntegerField()
    interval = serializers.ListField(
        child=serializers.IntegerField(), min_length=2, max_length=2, help_text="95 % interval of the size"
    )
    knee = serializers.IntegerField(help_text="The smallest size within the tie band of the best throughput")
    best = BestSizeSerializer()
    law = LawSerializer(
        allow_null=True, help_text="The fitted Universal Scalability Law; null with fewer than three sizes"
    )
    clients = serializers.IntegerField(required=False, help_text="The number of clients that it is made for")
    cells = CellSerializer(many=True, required=False, help_text="What was measured")
    left_of_budget = serializers.IntegerField(
        allow_null=True, help_text="Connections of the cluster that are left with it; null while they are unknown"
    )
    not_seen = serializers.ListField(child=serializers.CharField(), help_text="What the sweep could not measure")

    example: RecommendedSize = {
        "size": 12,
        "reserve": 3,
        "interval": [10, 14],
        "knee": 12,
        "best": {"size": 16, "tps": 1302.4},
        "law": {"rate": 182.4, "contention": 0.021, "coherency": 0.0004},
        "clients": 50,
        "cells": [
            {"size": 12, "clients": 50, "tps": 1288.0, "latency_avg_ms": 38.8, "runs": 3},
            {"size": 16, "clients": 50, "tps": 1302.4, "latency_avg_ms": 38.4, "runs": 3},
        ],
        "left_of_budget": 82,
        "not_seen": ["Your application's own transactions, unless the workload was a script of them."],
    }


class ListedExperimentSerializer(serializers.ModelSerializer[Experiment]):
    """An experiment in a list: all but its arms and its conclusion, which are made of its runs."""

    cluster: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)
    pooler: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)
    progress = serializers.SerializerMethodField()
    reasons = serializers.ListField(child=serializers.CharField(), read_only=True)
    notes = serializers.ListField(child=serializers.CharField(), read_only=True)
    generators = serializers.ListField(child=serializers.CharField(), read_only=True)
    recommendation = serializers.SerializerMethodField()

    class Meta:
        model = Experiment
        fields = [
            "id",
            "number",
            "playbook",
            "cluster",
            "cluster_name",
            "pooler",
            "generators",
            "quick",
            "repeats",
            "minutes",
            "seconds",
            "wanted_blocks",
            "seed",
            "state",
            "phase",
            "progress",
            "reasons",
            "notes",
            "recommendation",
            "created_at",
            "started_at",
            "finished_at",
        ]
        read_only_fields = fields

    example: dict[str, object] = {
        "id": EXPERIMENT,
        "number": 4,
        "playbook": "reconnect",
        "cluster": CLUSTER,
        "cluster_name": "orders",
        "pooler": POOLER,
        "generators": ["local"],
        "quick": True,
        "repeats": 3,
        "minutes": None,
        "seconds": None,
        "wanted_blocks": 0,
        "seed": 20260305,
        "state": "running",
        "phase": "measure",
        "reasons": [],
        "notes": [],
        "recommendation": None,
        "started_at": "2026-03-05T16:00:01Z",
        "finished_at": None,
    }

    @extend_schema_field(ProgressSerializer)
    def get_progress(self, experiment: Experiment) -> ProgressAnswer:
        total = sum(key not in experiment.skipped for block in experiment.plan for key in block)
        done: int = experiment.ended_runs  # type: ignore[attr-defined]  # counted by the query of a list
        return {"done": done, "total": total, "eta_s": 0.0 if experiment.has_ended else None}

    @extend_schema_field(RecommendationSerializer(allow_null=True))
    def get_recommendation(self, experiment: Experiment) -> RecommendedSize | None:
        return experiment.advice.get("recommendation")


class ExperimentSerializer(ListedExperimentSerializer):
    """An experiment, its progress, and its arms so far."""

    arms = serializers.SerializerMethodField()
    conclusion = serializers.SerializerMethodField()
    blocks_to_decide = serializers.SerializerMethodField()

    class Meta(ListedExperimentSerializer.Meta):
        fields = [*ListedExperimentSerializer.Meta.fields, "arms", "conclusion", "blocks_to_decide"]
        read_only_fields = fields

    example: dict[str, object] = {
        **ListedExperimentSerializer.example,
        "conclusion": "PgBouncer is faster than no pooler: tps ×2.41 (95 % interval ×2.35 to ×2.47, 3 runs each).",
        "blocks_to_decide": 0,
    }

    def to_representation(self, instance: Experiment) -> dict[str, object]:
        """Read the experiment's runs once for all that is made of them."""
        self._result = results.of(instance)
        found: dict[str, object] = super().to_representation(instance)
        return found

    @extend_schema_field(ProgressSerializer)
    def get_progress(self, experiment: Experiment) -> ProgressAnswer:
        found = results.progress(experiment)
        return {"done": found.done, "total": found.total, "eta_s": found.eta_s}

    @extend_schema_field(ExperimentArmSerializer(many=True))
    def get_arms(self, experiment: Experiment) -> list[tables.ExperimentArmRow]:
        return tables.arms(self._result)

    @extend_schema_field(serializers.CharField())
    def get_conclusion(self, experiment: Experiment) -> str:
        return presentation.conclusion(self._result)

    @extend_schema_field(
        serializers.IntegerField(
            allow_null=True,
            help_text=f"How many more blocks would judge every arm, by what is known; null above {MOST_BLOCKS_AHEAD}",
        )
    )
    def get_blocks_to_decide(self, experiment: Experiment) -> int | None:
        return sequential.blocks_to_decide(self._result) if experiment.has_whole_blocks else None
