"""The REST API that changes the rate of a run while its load goes on."""

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from benchmarks.api.serializers import RunSerializer
from benchmarks.models import Run
from benchmarks.runs.submission import rate as rates
from core.lib.known_fields import KnownFields


class RateSerializer(KnownFields):
    """The rate that the load is to go on with."""

    rate = serializers.FloatField(
        allow_null=True,
        min_value=rates.LEAST,
        max_value=rates.MOST,
        help_text=_("Transactions a second; null: as fast as it goes"),
    )

    example: dict[str, object] = {"rate": 500.0}


class RateOfRun(GenericViewSet[Run]):
    """`runs/{id}/rate/`."""

    @extend_schema(request=RateSerializer, responses={200: RunSerializer})
    @action(detail=True, methods=["post"])
    def rate(self, request: Request, pk: str) -> Response:
        """Let a running load of pgbench go on at another rate, as a stage of its own that begins when the next
        interval has ended; 409 where it can't."""
        serializer = RateSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        run = self.get_object()
        rates.change(run, serializer.validated_data["rate"])
        return Response(self.get_serializer(self.get_object()).data)
