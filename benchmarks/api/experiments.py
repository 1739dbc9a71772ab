"""The REST API of experiments: start a playbook, watch its arms fill in, take the report away."""

from typing import Any, TypedDict

from django.db.models import Count, Q, QuerySet
from django.http import HttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from benchmarks.api.asked_experiments import (
    AskedAdviceSerializer,
    AskedBlocksSerializer,
    AskedExperiment,
    AskedExperimentSerializer,
    CheckedAdvice,
)
from benchmarks.api.comparisons import ArmSerializer
from benchmarks.api.example_values import EXPERIMENT
from benchmarks.errors import IllegalTransition, InvalidGenerators, InvalidOptions, InvalidTarget
from benchmarks.experiments import dispatch, more_blocks, results, sequential, tables
from benchmarks.experiments import start as starting
from benchmarks.experiments.advice import sweep
from benchmarks.experiments.advice.request import AdviceRequest
from benchmarks.experiments.report import files, presentation
from benchmarks.experiments.sequential import MOST_BLOCKS_AHEAD
from benchmarks.experiments.start import ExperimentRequest, InvalidExperiment
from benchmarks.experiments.tables import ExperimentArmRow
from benchmarks.models import FINAL, Experiment, ExperimentState, Purpose
from benchmarks.models.advice import RecommendedSize
from benchmarks.models.experiments import ENDED
from core.accounts.models import Scope
from core.accounts.permissions import holds, person
from core.lib import wait_param
from core.lib.polling import poll
from core.lib.wait_param import WAIT
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


class PoolSizeView(APIView):
    """Advice on a pool."""

    write_scope = "apply"

    @extend_schema(request=AskedAdviceSerializer, responses={201: ExperimentSerializer})
    def post(self, request: Request) -> Response:
        """Ask for a pool's size, its mode, or whether to pool: a sweep that is carried out as an experiment."""
        serializer = AskedAdviceSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        try:
            body: CheckedAdvice = serializer.validated_data
            experiment = sweep.ask(AdviceRequest(**body, author=person(request.user)))
        except (InvalidExperiment, InvalidOptions, InvalidTarget) as error:
            raise serializers.ValidationError(error.errors) from error
        return Response(ExperimentSerializer(experiment).data, status=status.HTTP_201_CREATED)


class ExperimentViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Experiment]):
    """Playbooks carried out: interleaved arms, compared with their baselines and with what was published."""

    queryset = Experiment.objects.select_related("cluster", "pooler")
    serializer_class = ExperimentSerializer
    lookup_value_converter = "uuid"
    write_scope = "apply"
    filterset_fields = ["state", "playbook", "cluster", "quick"]
    search_fields = ["playbook", "cluster_name"]
    ordering_fields = ["number", "state", "created_at", "finished_at"]

    def get_queryset(self) -> QuerySet[Experiment]:
        """Count the ended runs of a list's rows in the same query."""
        found = super().get_queryset()
        if self.action != "list":
            return found
        ended = Q(runs__purpose=Purpose.LOAD, runs__status__in=FINAL)
        return found.annotate(ended_runs=Count("runs", filter=ended))

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Experiment]]:
        """Leave arms and conclusion out of lists."""
        return ListedExperimentSerializer if self.action == "list" else ExperimentSerializer

    @extend_schema(parameters=[WAIT])
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return an experiment; with `wait`, once it has ended."""
        with wait_param.waiting(request) as seconds:
            return Response(self.get_serializer(self._ended(self.get_object(), seconds)).data)

    def _ended(self, experiment: Experiment, seconds: float) -> Experiment:
        """Wait for the experiment's end as long as the caller asks for."""
        if not seconds:
            return experiment
        ended = Experiment.objects.filter(pk=experiment.pk, state__in=ENDED)
        poll(lambda: (ended.exists(), None), seconds)
        return self.get_queryset().get(pk=experiment.pk)

    @extend_schema(request=AskedExperimentSerializer, parameters=[WAIT], responses={201: ExperimentSerializer})
    def create(self, request: Request) -> Response:
        """Start a playbook on a cluster; what its arms need is made before and removed after."""
        serializer = AskedExperimentSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        is_admin = holds(request.user, request.auth, Scope.ADMIN)
        body: AskedExperiment = serializer.validated_data
        experiment_request = ExperimentRequest(**body, author=person(request.user), is_admin=is_admin)
        with wait_param.waiting(request) as seconds:
            try:
                experiment = starting.start(experiment_request)
            except (InvalidExperiment, InvalidGenerators, InvalidOptions) as error:
                raise serializers.ValidationError(error.errors) from error
            experiment = self._ended(experiment, seconds)
        return Response(self.get_serializer(experiment).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=ExperimentSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """End it: the run that is on is stopped, what was measured stays, what was made is removed; 409 once ended."""
        experiment = self.get_object()
        if not experiment.request_cancel() and experiment.state != ExperimentState.CANCELLED:
            message = _("%(experiment)s has ended already: there is nothing left to cancel")
            raise IllegalTransition(message % {"experiment": experiment})
        dispatch.request_advance()
        return Response(self.get_serializer(experiment).data)

    @extend_schema(request=AskedBlocksSerializer, responses={202: ExperimentSerializer})
    @action(detail=True, methods=["post"], url_path="measure-more")
    def measure_more(self, request: Request, pk: str) -> Response:
        """Measure so many blocks more, also of one that has ended: what its arms need is made again for them.

        409 where it can't go on: a sweep of sizes, a cluster that was removed, or while things are being removed.
        """
        experiment = self.get_object()
        serializer = AskedBlocksSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        is_admin = holds(request.user, request.auth, Scope.ADMIN)
        try:
            more_blocks.measure_more(experiment, **serializer.validated_data, is_admin=is_admin)
        except InvalidExperiment as error:
            raise serializers.ValidationError(error.errors) from error
        return Response(self.get_serializer(experiment).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        parameters=[OpenApiParameter("as", str, enum=list(files.MAKERS), description="`html` if left out")],
        responses={
            (200, "text/html"): OpenApiTypes.STR,
            (200, "text/csv"): OpenApiTypes.STR,
            (200, "application/json"): OpenApiTypes.OBJECT,
            (200, "application/pdf"): OpenApiTypes.BINARY,
        },
        filters=False,
    )
    @action(detail=True)
    def report(self, request: Request, pk: str) -> HttpResponse:
        """Answer the report: verdict first, chart, table, conditions and evidence.

        CSV has a line for each arm; of a sweep of sizes that is a cell, with `mean_tps`, `mean_latency_avg_ms` and
        `is_recommended` at its end.
        """
        kind = request.query_params.get("as", "html")
        if kind not in files.MAKERS:
            message = _("%(kind)s is not a kind of report: choose one of %(kinds)s")
            values = {"kind": repr(kind[:40]), "kinds": ", ".join(files.MAKERS)}
            raise serializers.ValidationError({"as": [message % values]})
        experiment = self.get_object()
        content_type, make = files.MAKERS[kind]
        response = HttpResponse(make(experiment), content_type=content_type)
        response["Content-Disposition"] = f'attachment; filename="pooldeck-experiment-{experiment.number}.{kind}"'
        return response
