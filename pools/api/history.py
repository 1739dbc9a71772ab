"""The REST API of recorded figures: minutes of pools, entries and poolers, aggregated over a window of time."""

from datetime import datetime
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
from pools.monitoring import history, windows
from pools.monitoring.history import History, Point
from pools.monitoring.rates import FIGURES
from pools.monitoring.windows import RANGES, Window


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

    range = serializers.CharField(source="window.name", help_text=_("Empty for a window of its own"))
    since = serializers.DateTimeField(source="window.since")
    until = serializers.DateTimeField(source="window.until")
    step_s = serializers.SerializerMethodField()
    points = PointSerializer(many=True)

    example: dict[str, object] = {
        "range": "hour",
        "since": "2026-03-05T15:12:00Z",
        "until": "2026-03-05T16:13:00Z",
        "step_s": 60,
    }

    def get_step_s(self, found: History) -> int:
        """Return the length of one step in seconds."""
        return found.window.step * 60


PARAMETERS = [
    OpenApiParameter("range", enum=list(RANGES), default="hour", description=_("How far back; not beside `since`")),
    OpenApiParameter("since", datetime, description=_("The beginning of a window of its own, with `until`")),
    OpenApiParameter("until", datetime, description=_("Its end, at most 366 days later")),
]


def window_of(request: Request) -> Window:
    """Return the window that the query names. Raises `ValidationError` for one that can't be read."""
    if "since" in request.query_params or "until" in request.query_params:
        asked = WindowParams(data=request.query_params)
        asked.is_valid(raise_exception=True)
        return windows.between(asked.validated_data["since"], asked.validated_data["until"])
    name = request.query_params.get("range", "hour")
    if name not in RANGES:
        text = gettext("%(range)r is not one of %(choices)s")
        raise ValidationError({"range": [text % {"range": name, "choices": ", ".join(RANGES)}]})
    return RANGES[name].window()


class WindowParams(serializers.Serializer[object]):
    """Both ends of a window."""

    since = serializers.DateTimeField()
    until = serializers.DateTimeField()

    def validate(self, attrs: dict[str, datetime]) -> dict[str, datetime]:
        """Refuse a window that no chart can show."""
        if reason := windows.fault(attrs["since"], attrs["until"]):
            raise ValidationError({"until": [reason]})
        return attrs


class PoolHistoryView(APIView):
    """`pools/ID/history/`: the figures of a pool over a window, averaged in steps."""

    operations = {"get": "pool.view"}

    @extend_schema(parameters=PARAMETERS, responses=HistorySerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the averages and maxima of its figures."""
        pool = find(request, Pool.objects.wanted().select_related("pooler"), pk=pk)
        return Response(HistorySerializer(history.of_pool(pool, window_of(request))).data)


class EntryHistoryView(APIView):
    """The history of an entry that no pool stands for."""

    operations = {"get": "entry.view"}

    @extend_schema(parameters=PARAMETERS, responses=HistorySerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the averages and maxima of its figures."""
        entry = find(request, Entry.objects.select_related("pooler"), pk=pk)
        return Response(HistorySerializer(history.of_entry(entry, window_of(request))).data)


class PoolerHistoryView(APIView):
    """The history of all pools of a pooler together."""

    operations = {"get": "pooler.view"}

    @extend_schema(parameters=PARAMETERS, responses=HistorySerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the averages and maxima of their sums."""
        pooler = find(request, Pooler.objects.all(), pk=pk)
        return Response(HistorySerializer(history.of_pooler(pooler, window_of(request))).data)
