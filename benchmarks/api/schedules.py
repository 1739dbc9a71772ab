"""The REST API of schedules: what starts again by itself, when, and what became of its times."""

from typing import Any, ClassVar

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ModelViewSet

from benchmarks.api.example_values import RUN, SCHEDULE
from benchmarks.models import Experiment, Run, Schedule, ScheduledStart
from benchmarks.models.schedules import USUAL_DEADLINE
from benchmarks.schedules import due, store
from benchmarks.schedules.store import Terms
from core.accounts.access import Access
from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from core.rest.visible import VisibleField

TERMS = (
    "name",
    "cron",
    "time_zone",
    "pair",
    "repeat",
    "starting_deadline_minutes",
    "notify_on_change",
    "weekly_summary",
)
START = "7c6b5a49-3827-4615-8f4e-3d2c1b0a9f8f"


class ScheduleSerializer(KnownFields, serializers.ModelSerializer[Schedule]):
    """A schedule: it repeats a `run` or an `experiment`, which can't be changed afterwards."""

    run: Any = VisibleField(queryset=Run.objects.all(), required=False, allow_null=True)
    experiment: Any = VisibleField(queryset=Experiment.objects.all(), required=False, allow_null=True)
    cron = serializers.CharField(
        max_length=100, help_text=_("Minute, hour, day of the month, month and day of the week, as `15 2 * * *`")
    )
    time_zone = serializers.CharField(max_length=64, help_text=_("Such as `Europe/Berlin`"))
    pair = serializers.BooleanField(default=False, help_text=_("Of a run through a pooler: the same load directly too"))
    repeat = serializers.IntegerField(default=1, help_text=_("Runs or pairs that are started each time"))
    starting_deadline_minutes = serializers.IntegerField(
        default=USUAL_DEADLINE, help_text=_("Minutes after its time until which it may begin; then it is missed")
    )
    notify_on_change = serializers.BooleanField(
        default=True,
        help_text=_("A message over each channel when a night shows a change for the worse"),
    )
    weekly_summary = serializers.BooleanField(default=True, help_text=_("Whether it is in the weekly summary"))
    author = serializers.CharField(
        source="author.username",
        default=None,
        allow_null=True,
        read_only=True,
        help_text=_("With whose rights it starts"),
    )
    needs_consent = serializers.BooleanField(
        read_only=True, help_text=_("Whether an owner of the protected cluster has to agree before anything starts")
    )

    class Meta:
        model = Schedule
        fields = [
            "id",
            "run",
            "experiment",
            *TERMS,
            "author",
            "due_at",
            "paused_at",
            "needs_consent",
            "consented_at",
            "created_at",
        ]
        read_only_fields = ["id", "due_at", "paused_at", "consented_at", "created_at"]

    example: dict[str, object] = {
        "id": SCHEDULE,
        "run": RUN,
        "experiment": None,
        "name": "orders, each night",
        "cron": "15 2 * * *",
        "time_zone": "Europe/Berlin",
        "pair": True,
        "repeat": 3,
        "starting_deadline_minutes": 60,
        "notify_on_change": True,
        "weekly_summary": True,
        "author": "ada",
        "due_at": "2026-03-03T01:15:00Z",
        "paused_at": None,
        "needs_consent": False,
        "consented_at": None,
        "created_at": "2026-03-02T09:00:00Z",
    }

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Refuse a schedule of nothing and of both, and another thing to repeat."""
        named = [name for name in ("run", "experiment") if values.get(name)]
        if self.instance is None and len(named) != 1:
            raise serializers.ValidationError({"run": [gettext("give one of run and experiment")]})
        changed = [name for name in named if self.instance and values[name] != getattr(self.instance, name)]
        if changed:
            raise serializers.ValidationError({changed[0]: [gettext("make a new schedule to repeat something else")]})
        return values


class ScheduledStartSerializer(serializers.ModelSerializer[ScheduledStart]):
    """A due time and what became of it; a missed one may stand for several `due_times`."""

    by = serializers.CharField(
        source="by.username",
        default=None,
        allow_null=True,
        read_only=True,
        help_text=_("Who started it by hand; null: its time came"),
    )

    class Meta:
        model = ScheduledStart
        fields = ["id", "due_at", "due_times", "state", "reason", "run", "experiment", "by"]
        read_only_fields = fields

    example: dict[str, object] = {
        "id": START,
        "due_at": "2026-03-02T01:15:00Z",
        "due_times": 1,
        "state": "started",
        "reason": "",
        "run": RUN,
        "experiment": None,
        "by": None,
    }


class ConsentSerializer(KnownFields):
    """The consent of an owner."""

    confirm = serializers.CharField(help_text=_("The name of the protected cluster"))

    example: dict[str, object] = {"confirm": "orders"}


class ScheduleViewSet(ModelViewSet[Schedule]):
    """Runs, pairs and experiments that start again at the times of a cron line."""

    queryset = Schedule.objects.select_related(
        "run__cluster", "run__external__cluster", "experiment__cluster", "author"
    )
    serializer_class = ScheduleSerializer
    lookup_value_converter = "uuid"
    write_scope = "apply"  # a token needs it for methods that are missing here, before it gets 405
    operations: ClassVar = {
        **dict.fromkeys(("list", "retrieve", "starts"), "schedule.view"),
        **dict.fromkeys(("create", "update", "partial_update", "destroy"), "schedule.change"),
        **dict.fromkeys(("pause", "resume", "run_now"), "schedule.change"),
        "consent": "schedule.consent",
    }
    filterset_fields = ["run", "experiment"]
    search_fields = ["name"]
    ordering_fields = ["name", "due_at", "created_at"]

    def perform_create(self, serializer: serializers.BaseSerializer[Schedule]) -> None:
        """Create a schedule with the rights of the caller."""
        values = serializer.validated_data
        repeated = values.get("run") or values["experiment"]
        Access.of(self.request).require("schedule.change", repeated)
        terms = Terms(**{name: values[name] for name in TERMS})
        serializer.instance = store.create(repeated, terms, person(self.request.user))

    def perform_update(self, serializer: serializers.BaseSerializer[Schedule]) -> None:
        """Change when and how often; it has the rights of the caller from then on, and needs the consent again."""
        schedule = self.get_object()
        current = {name: getattr(schedule, name) for name in TERMS}
        changed = {name: value for name, value in serializer.validated_data.items() if name in TERMS}
        serializer.instance = store.change(schedule, Terms(**current | changed), person(self.request.user))

    @extend_schema(request=None, responses=ScheduleSerializer)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, pk: str) -> Response:
        """Start nothing more until it is resumed."""
        schedule = self.get_object()
        store.pause(schedule)
        return Response(self.get_serializer(schedule).data)

    @extend_schema(request=None, responses=ScheduleSerializer)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        """Go on with the next time; what came in between is not made up for."""
        schedule = self.get_object()
        store.resume(schedule)
        return Response(self.get_serializer(schedule).data)

    @extend_schema(request=None, responses={201: ScheduledStartSerializer})
    @action(detail=True, methods=["post"], url_path="run-now")
    def run_now(self, request: Request, pk: str) -> Response:
        """Start it now, beside its own times; a start that is `missed` says why nothing began."""
        start = due.start_now(self.get_object(), person(request.user))
        return Response(ScheduledStartSerializer(start).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=ConsentSerializer, responses=ScheduleSerializer)
    @action(detail=True, methods=["post"])
    def consent(self, request: Request, pk: str) -> Response:
        """Agree to loads of the protected cluster, as an owner; 409 where nobody's consent is missing."""
        schedule = self.get_object()
        asked = ConsentSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        store.consent(schedule, person(request.user), asked.validated_data["confirm"])
        return Response(self.get_serializer(schedule).data)

    @extend_schema(responses=ScheduledStartSerializer(many=True), filters=False)
    @action(detail=True)
    def starts(self, request: Request, pk: str) -> Response:
        """List the due times and what became of them, the latest first."""
        rows: Any = self.get_object().starts.select_related("by")
        return self.get_paginated_response(ScheduledStartSerializer(self.paginate_queryset(rows), many=True).data)
