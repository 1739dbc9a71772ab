"""The REST API of recorded figures: minutes of pools and poolers, aggregated for an hour, a day or a week."""

from typing import Any, TypedDict
from uuid import UUID

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.accounts.access import find
from pools.models import Entry, Pool, Pooler
from pools.monitoring import history
from pools.monitoring.history import RANGES, History, Point, Range
from pools.monitoring.rates import FIGURES


class Figure(TypedDict):
    """The average and the maximum of a figure over one step."""

    avg: float | None
    max: float | None


class FigureSerializer(serializers.Serializer[Figure]):
    """A figure over one step; null where nothing ended, or where the kind of pooler does not count it."""

    avg = serializers.FloatField(allow_null=True)
    max = serializers.FloatField(allow_null=True)

    example: dict[str, object] = {"avg": 4.2, "max": 9.0}


class PointSerializer(serializers.Serializer[Point]):
    """One step: its beginning, how often the console was polled, and every figure."""

    at = serializers.DateTimeField(source="time")
    looks = serializers.IntegerField(source="snapshots")

    example: dict[str, object] = {"at": "2026-03-05T16:11:00Z", "looks": 60}

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add each figure by its name."""
        return {**super().get_fields(), **{name: FigureSerializer() for name in FIGURES}}

    def to_representation(self, instance: Point) -> dict[str, object]:
        """Return the figures as `{avg, max}`."""
        figures: dict[str, Figure] = {
            name: {"avg": instance.average[name], "max": instance.maximum[name]} for name in FIGURES
        }
        return {"at": instance.time.isoformat(), "looks": instance.snapshots, **figures}


class HistorySerializer(serializers.Serializer[History]):
    """Points in order of time, without unrecorded steps; times in ms, bytes and counts per second."""

    range = serializers.CharField(source="range.name")
    step_s = serializers.SerializerMethodField()
    points = PointSerializer(many=True)

    example: dict[str, object] = {"range": "hour", "step_s": 60}

    def get_step_s(self, found: History) -> int:
        """Return the length of one step in seconds."""
        return found.range.step * 60


RANGE = OpenApiParameter("range", enum=list(RANGES), default="hour", description=_("How far back"))


def range_of(request: Request) -> Range:
    """Return the range that `?range=` names. Raises `ValidationError` for an unknown one."""
    name = request.query_params.get("range", "hour")
    if name not in RANGES:
        text = gettext("%(range)r is not one of %(choices)s")
        raise ValidationError({"range": [text % {"range": name, "choices": ", ".join(RANGES)}]})
    return RANGES[name]


class PoolHistoryView(APIView):
    """`pools/ID/history/`: the figures of a pool over a range, averaged in steps."""

    operations = {"get": "pool.view"}

    @extend_schema(parameters=[RANGE], responses=HistorySerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the averages and maxima of its figures."""
        pool = find(request, Pool.objects.wanted().select_related("pooler"), pk=pk)
        return Response(HistorySerializer(history.of_pool(pool, range_of(request))).data)


class EntryHistoryView(APIView):
    """The history of an entry that no pool stands for."""

    operations = {"get": "entry.view"}

    @extend_schema(parameters=[RANGE], responses=HistorySerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the averages and maxima of its figures."""
        entry = find(request, Entry.objects.select_related("pooler"), pk=pk)
        return Response(HistorySerializer(history.of_entry(entry, range_of(request))).data)


class PoolerHistoryView(APIView):
    """The history of all pools of a pooler together."""

    operations = {"get": "pooler.view"}

    @extend_schema(parameters=[RANGE], responses=HistorySerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the averages and maxima of their sums."""
        pooler = find(request, Pooler.objects.all(), pk=pk)
        return Response(HistorySerializer(history.of_pooler(pooler, range_of(request))).data)
