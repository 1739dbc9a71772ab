"""The REST API of experiments: start a playbook, watch its arms fill in, take the report away."""

from typing import ClassVar
from uuid import UUID

import django_filters
from django.db.models import Count, Q, QuerySet
from django.http import HttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.asked_experiments import (
    AskedAdviceSerializer,
    AskedBlocksSerializer,
    AskedExperiment,
    AskedExperimentSerializer,
    CheckedAdvice,
)
from benchmarks.api.experiment_serializers import ExperimentSerializer, ListedExperimentSerializer
from benchmarks.errors import IllegalTransition, InvalidGenerators, InvalidOptions, InvalidTarget
from benchmarks.experiments import dispatch, more_blocks
from benchmarks.experiments import start as starting
from benchmarks.experiments.advice import sweep
from benchmarks.experiments.advice.request import AdviceRequest
from benchmarks.experiments.report import files
from benchmarks.experiments.start import ExperimentRequest, InvalidExperiment
from benchmarks.models import FINAL, Experiment, ExperimentState, Purpose
from benchmarks.models.experiments import ENDED, ExperimentQuerySet
from core.accounts.access import Access
from core.accounts.models import Scope
from core.accounts.permissions import holds, person
from core.lib.wait_param import WAIT
from core.rest.teams import TeamFilter
from core.rest.waits import Waits


class PoolSizeView(APIView):
    """Advice on a pool."""

    write_scope = "apply"  # a token needs it for methods that are missing here, before it gets 405
    operations: ClassVar = {"post": "experiment.start"}

    @extend_schema(request=AskedAdviceSerializer, responses={201: ExperimentSerializer})
    def post(self, request: Request) -> Response:
        """Ask for a pool's size, its mode, or whether to pool: a sweep that is carried out as an experiment."""
        serializer = AskedAdviceSerializer(data=request.data, context={"request": request})
        serializer.is_valid(raise_exception=True)
        body: CheckedAdvice = serializer.validated_data
        access = Access.of(request)
        access.require("experiment.start", body.get("pool") or body.get("entry") or body["cluster"])
        try:
            experiment = sweep.ask(AdviceRequest(**body, author=person(request.user), access=access))
        except (InvalidExperiment, InvalidOptions, InvalidTarget) as error:
            raise serializers.ValidationError(error.errors) from error
        return Response(ExperimentSerializer(experiment).data, status=status.HTTP_201_CREATED)


class ExperimentFilter(django_filters.FilterSet):  # type: ignore[misc]  # django-filter carries no types
    """Experiments by what they are; `team` is the cluster's."""

    team = TeamFilter(method="of_team")

    class Meta:
        model = Experiment
        fields = ["state", "playbook", "cluster", "quick", "team"]

    def of_team(self, experiments: ExperimentQuerySet, name: str, team: UUID) -> ExperimentQuerySet:
        """Filter by team: experiments on what belongs to it."""
        return experiments.of_team(team)


class ExperimentViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, Waits[Experiment]):
    """Playbooks carried out: interleaved arms, compared with their baselines and with what was published."""

    queryset = Experiment.objects.select_related("cluster", "pooler")
    serializer_class = ExperimentSerializer
    lookup_value_converter = "uuid"
    write_scope = "apply"  # a token needs it for methods that are missing here, before it gets 405
    destructive = frozenset({"cancel"})
    operations: ClassVar = {
        **dict.fromkeys(("list", "retrieve", "report"), "experiment.view"),
        **dict.fromkeys(("create", "cancel", "measure_more"), "experiment.start"),
    }
    filterset_class = ExperimentFilter
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
        with self.may_wait():
            return Response(self.get_serializer(self._until_ended(self.get_object())).data)

    def _until_ended(self, experiment: Experiment) -> Experiment:
        """Return the experiment, whose answer waits for its end as long as the caller asks for."""
        ended = Experiment.objects.filter(pk=experiment.pk, state__in=ENDED)
        found = Experiment.objects.select_related("cluster", "pooler").filter(pk=experiment.pk)
        self.until(experiment, ended.exists, lambda: self.get_serializer(found.get()).data)
        return experiment

    @extend_schema(request=AskedExperimentSerializer, parameters=[WAIT], responses={201: ExperimentSerializer})
    def create(self, request: Request) -> Response:
        """Start a playbook on a cluster; what its arms need is made before and removed after."""
        serializer = AskedExperimentSerializer(data=request.data, context=self.get_serializer_context())
        serializer.is_valid(raise_exception=True)
        is_admin = holds(request.user, request.auth, Scope.ADMIN)
        body: AskedExperiment = serializer.validated_data
        access = Access.of(request)
        for record in filter(None, (body["cluster"], body.get("pooler"))):
            access.require("experiment.start", record)
        experiment_request = ExperimentRequest(**body, author=person(request.user), access=access, is_admin=is_admin)
        with self.may_wait():
            try:
                experiment = starting.start(experiment_request)
            except (InvalidExperiment, InvalidGenerators, InvalidOptions) as error:
                raise serializers.ValidationError(error.errors) from error
            experiment = self._until_ended(experiment)
        return Response(self.get_serializer(experiment).data, status=status.HTTP_201_CREATED)

    def needs_no_reason(self, request: Request) -> bool:
        """Tell whether the caller started the experiment that they cancel; see `core.accounts.reasons`."""
        return Experiment.objects.filter(pk=self.kwargs["pk"], author=person(request.user)).exists()

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
