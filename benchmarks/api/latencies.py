"""The REST API of how a run's latencies are spread: percentiles and histogram, of one or of its repeats."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from benchmarks.analysis.latency import report
from benchmarks.analysis.latency.histogram import PERCENTILES
from benchmarks.models import Run

RUN, REPEATS = "run", "repeats"
OF = OpenApiParameter(
    "of",
    OpenApiTypes.STR,
    enum=[RUN, REPEATS],
    description="repeats: the valid runs of its group that did the same on the same target, merged into one histogram",
)


class BarSerializer(serializers.Serializer[Any]):
    """How many of the logged transactions took more than `from_ms` and up to `to_ms`."""

    from_ms = serializers.FloatField()
    to_ms = serializers.FloatField()
    count = serializers.IntegerField()


class PercentilesSerializer(serializers.Serializer[Any]):
    """In milliseconds; null where nothing was logged."""

    p50 = serializers.FloatField(allow_null=True)
    p90 = serializers.FloatField(allow_null=True)
    p95 = serializers.FloatField(allow_null=True)
    p99 = serializers.FloatField(allow_null=True)
    p99_9 = serializers.FloatField(allow_null=True)


class SpreadSerializer(serializers.Serializer[Any]):
    """The latencies of the transactions that were logged and did not fail; under a rate counted from the schedule."""

    runs = serializers.IntegerField(help_text="How many runs are in it")
    count = serializers.IntegerField(help_text="Transactions that were logged")
    sampling_rate = serializers.FloatField(help_text="The share of all transactions that was logged")
    is_firm = serializers.BooleanField(help_text="Whether the p99 rests on 10,000 transactions or more")
    note = serializers.CharField(help_text="What the figures rest on")
    percentiles_ms = PercentilesSerializer()
    bars = BarSerializer(many=True, help_text="The histogram in steps of equal ratio")


class LatenciesOfRun(GenericViewSet[Run]):
    """The part of the runs' viewset that tells latencies."""

    @extend_schema(parameters=[OF], responses=SpreadSerializer, filters=False)
    @action(detail=True)
    def latencies(self, request: Request, pk: str) -> Response:
        """How the run's latencies are spread; counts of 0 where none were logged."""
        run, of = self.get_object(), request.query_params.get("of", RUN)
        if of not in (RUN, REPEATS):
            raise ValidationError({"of": [f"{of!r} is neither: use {RUN} or {REPEATS}"]})
        found = report.of_runs(report.repeats_of(run)) if of == REPEATS and run.group else report.of_run(run)
        spread = found or report.Spread(0, 0, 1.0, {}, [])
        percentiles = dict.fromkeys(PERCENTILES) | spread.percentiles_ms
        described = {
            name: getattr(spread, name) for name in ("runs", "count", "sampling_rate", "is_firm", "note", "bars")
        }
        return Response(SpreadSerializer(described | {"percentiles_ms": percentiles}).data)
