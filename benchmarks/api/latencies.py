"""The REST API of latency distributions: percentiles and histogram of a run or of its repeats together."""

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from benchmarks.analysis.latency import report
from benchmarks.models import Run

RUN, REPEATS = "run", "repeats"
OF = OpenApiParameter(
    "of",
    OpenApiTypes.STR,
    enum=[RUN, REPEATS],
    description=_(
        "repeats: the valid runs of its group with the same configuration and target, merged into one histogram"
    ),
)


class BarSerializer(serializers.Serializer[Any]):
    """The number of logged transactions that took more than `from_ms` and up to `to_ms`."""

    from_ms = serializers.FloatField()
    to_ms = serializers.FloatField()
    count = serializers.IntegerField()

    example: dict[str, object] = {"from_ms": 7.0, "to_ms": 8.0, "count": 9120}


class PercentilesSerializer(serializers.Serializer[Any]):
    """Percentiles in milliseconds; null if fewer than 10 / (1 - p) transactions were logged."""

    p50 = serializers.FloatField(allow_null=True)
    p90 = serializers.FloatField(allow_null=True)
    p95 = serializers.FloatField(allow_null=True)
    p99 = serializers.FloatField(allow_null=True)
    p99_9 = serializers.FloatField(allow_null=True)

    example: dict[str, object] = {"p50": 7.4, "p90": 10.6, "p95": 12.1, "p99": 16.8, "p99_9": 24.9}


class SpreadSerializer(serializers.Serializer[Any]):
    """Latencies of logged transactions that did not fail; with a rate, counted from their scheduled start."""

    runs = serializers.IntegerField(help_text=_("Number of runs included"))
    count = serializers.IntegerField(help_text=_("Transactions that were logged"))
    sampling_rate = serializers.FloatField(help_text=_("The share of all transactions that was logged"))
    is_firm = serializers.BooleanField(help_text=_("Whether the p99 is based on 10,000 transactions or more"))
    note = serializers.CharField(help_text=_("What the figures are based on"))
    percentiles_ms = PercentilesSerializer()
    bars = BarSerializer(many=True, help_text=_("The histogram in steps of equal ratio"))

    example: dict[str, object] = {
        "count": 37849,
        "is_firm": True,
        "note": "All 37,849 transactions of run 12.",
    }


class LatenciesOfRun(GenericViewSet[Run]):
    """`runs/{id}/latencies/`."""

    @extend_schema(parameters=[OF], responses=SpreadSerializer, filters=False)
    @action(detail=True)
    def latencies(self, request: Request, pk: str) -> Response:
        """Return the run's latency distribution; counts of 0 if no latencies were logged."""
        run, of = self.get_object(), request.query_params.get("of", RUN)
        if of not in (RUN, REPEATS):
            text = gettext("%(value)r is not allowed here: use one of %(choices)s")
            raise ValidationError({"of": [text % {"value": of, "choices": f"{RUN}, {REPEATS}"}]})
        found = report.of_runs(report.repeats_of(run)) if of == REPEATS and run.group else report.of_run(run)
        spread = found or report.Spread(0, 0, 1.0, {}, [])
        figures = {
            name: getattr(spread, name) for name in ("runs", "count", "sampling_rate", "is_firm", "note", "bars")
        }
        return Response(SpreadSerializer(figures | {"percentiles_ms": spread.listed}).data)
