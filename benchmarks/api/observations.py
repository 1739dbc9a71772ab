"""The REST API of a run's observations of pooler, server, host and generator."""

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

from benchmarks.models import Observation, ObservationKind, Run

KIND = OpenApiParameter(
    "kind",
    OpenApiTypes.STR,
    enum=ObservationKind.values,
    description=_("Only observations of this kind; otherwise all of them"),
)


class ObservationSerializer(serializers.ModelSerializer[Observation]):
    """One observation; `t` in seconds since the load began, `figures` with units in their names."""

    figures = serializers.DictField(
        read_only=True,
        help_text=_(
            "For the server, `waits` and `states` count sessions by name; a figure that could not be measured is "
            "null or left out"
        ),
    )

    class Meta:
        model = Observation
        fields = ["t", "kind", "figures"]

    example: dict[str, object] = {
        "t": 4.0,
        "figures": {"wait_ms": 0.0, "service_ms": 7.9, "transactions_per_s": 1264.0},
    }


class ObservationsOfRun(GenericViewSet[Run]):
    """`runs/{id}/observations/`."""

    @extend_schema(parameters=[KIND], responses=ObservationSerializer(many=True), filters=False, deprecated=True)
    @action(detail=True)
    def looks(self, request: Request, pk: str) -> Response:
        """Answer as `observations` does: its path until 1.0."""
        return self._listed(request)

    @extend_schema(parameters=[KIND], responses=ObservationSerializer(many=True), filters=False)
    @action(detail=True)
    def observations(self, request: Request, pk: str) -> Response:
        """List the observations so far, in order."""
        return self._listed(request)

    def _listed(self, request: Request) -> Response:
        rows: Any = Observation.objects.filter(run=self.get_object())
        if kind := request.query_params.get("kind"):
            if kind not in ObservationKind.values:
                text = gettext("%(kind)r is not a kind of observation: choose one of %(choices)s")
                raise ValidationError({"kind": [text % {"kind": kind, "choices": ", ".join(ObservationKind.values)}]})
            rows = rows.filter(kind=kind)
        return self.get_paginated_response(ObservationSerializer(self.paginate_queryset(rows), many=True).data)
