"""The REST API of events."""

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from core.accounts.permissions import person
from pools.api.example_values import POOL
from pools.models import Event, EventKind, Severity, SubjectType


class EventSerializer(serializers.ModelSerializer[Event]):
    """A value beyond its threshold; `closed_at` is null while it is open, `value` is from when it opened."""

    kind = serializers.ChoiceField(EventKind.choices)
    severity = serializers.ChoiceField(Severity.choices)
    subject_type = serializers.ChoiceField(SubjectType.choices)

    class Meta:
        model = Event
        fields = [
            "id",
            "kind",
            "severity",
            "subject_type",
            "subject_id",
            "subject_name",
            "value",
            "message",
            "opened_at",
            "closed_at",
            "acknowledged_at",
            "acknowledged_by",
        ]
        read_only_fields = fields

    example: dict[str, object] = {
        "id": "2c9e8d7f-6a5b-4c3d-8e2f-1a0b9c8d7e6f",
        "subject_type": "pool",
        "subject_id": POOL,
        "subject_name": "orders",
        "value": 12.0,
        "message": "12 clients of pool orders wait for a server connection",
        "opened_at": "2026-03-05T16:02:30Z",
        "closed_at": None,
        "acknowledged_at": None,
        "acknowledged_by": "",
    }


class EventFilter(django_filters.FilterSet):  # type: ignore[misc]  # django-filter carries no types
    """`open=true` selects open events."""

    open = django_filters.BooleanFilter(field_name="closed_at", lookup_expr="isnull")

    class Meta:
        model = Event
        fields = ["kind", "severity", "subject_type", "subject_id", "open"]


class EventViewSet(ReadOnlyModelViewSet[Event]):
    """Events, the latest first."""

    queryset: QuerySet[Event] = Event.objects.reportable()
    serializer_class = EventSerializer
    lookup_value_converter = "uuid"
    operations = {"list": "event.view", "retrieve": "event.view", "acknowledge": "event.acknowledge"}
    filterset_class = EventFilter
    search_fields = ["subject_name"]
    private_search_fields = ["message"]
    ordering_fields = ["opened_at", "closed_at", "kind", "severity", "subject_name"]

    @extend_schema(request=None, responses=EventSerializer)
    @action(detail=True, methods=["post"])
    def acknowledge(self, request: Request, pk: str) -> Response:
        """Record who has seen it; the first one stays."""
        event = self.get_object()
        event.acknowledge(person(request.user))
        event.refresh_from_db()
        return Response(self.get_serializer(event).data)
