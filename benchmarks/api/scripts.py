"""The REST API of the script library: store scripts, read their versions, try one in a dry run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, cast

import django_filters
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import GenericViewSet

from benchmarks.api.asked_runs import AskedTargetField
from benchmarks.api.example_values import SCRIPT, SCRIPT_TEXT
from benchmarks.api.runs import field_errors
from benchmarks.api.serializers import RunSerializer
from benchmarks.engines.script_text import PROTOCOLS
from benchmarks.library.scripts import library
from benchmarks.library.scripts.library import InvalidScript
from benchmarks.models import Script, ScriptVersion
from benchmarks.runs.submission import submit
from core.accounts.access import Access
from core.accounts.people.placement import Placement
from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from core.rest.teams import EXAMPLE, OWNED, OwnedSerializer, TeamFilter


class ScriptSerializer(OwnedSerializer, serializers.ModelSerializer[Script]):
    """A script with the text and number (`version`) of its newest version."""

    text = serializers.CharField(trim_whitespace=False)
    version = serializers.IntegerField(source="number", read_only=True)
    changed_at = serializers.DateTimeField(read_only=True)

    class Meta:
        model = Script
        fields = ["id", "name", "description", "text", "version", *OWNED, "created_at", "changed_at"]
        read_only_fields = ["id", "created_at"]
        # the library checks whether a name is free
        validators: ClassVar[list[Any]] = []
        extra_kwargs: ClassVar[dict[str, Any]] = {"name": {"validators": []}, "description": {"validators": []}}

    example: dict[str, object] = {
        "id": SCRIPT,
        "name": "order-lookup",
        "description": "One order by its id",
        "text": SCRIPT_TEXT,
        "version": 2,
        **EXAMPLE,
        "changed_at": "2026-03-05T15:40:11Z",
    }


class VersionSerializer(serializers.ModelSerializer[ScriptVersion]):
    """One version of a script; a run's `script_version` names its `id`."""

    author = serializers.CharField(source="author.username", default="")

    class Meta:
        model = ScriptVersion
        fields = ["id", "number", "text", "author", "created_at"]
        read_only_fields = fields

    example: dict[str, object] = {"id": 31, "number": 2, "text": SCRIPT_TEXT, "author": "admin"}


class DryRunSerializer(KnownFields):
    """The target and version of a dry run; default: the newest version."""

    target = AskedTargetField()
    version = serializers.IntegerField(required=False, min_value=1)
    variables = serializers.DictField(required=False)
    protocol = serializers.ChoiceField(choices=PROTOCOLS, required=False)
    confirm = serializers.CharField(default="", allow_blank=True)


class ScriptFilter(django_filters.FilterSet):  # type: ignore[misc]  # django-filter carries no types
    """Scripts by name and team."""

    team = TeamFilter()

    class Meta:
        model = Script
        fields = ["name", "team"]


@contextmanager
def script_errors() -> Iterator[None]:
    """Report errors of a script under its field."""
    try:
        yield
    except InvalidScript as error:
        raise ValidationError(error.errors) from error


class ScriptViewSet(
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    mixins.CreateModelMixin,
    mixins.UpdateModelMixin,
    mixins.DestroyModelMixin,
    GenericViewSet[Script],
):
    """pgbench scripts by name, with all their versions."""

    queryset = library.with_newest(Script.objects.prefetch_related("shared_with"))
    serializer_class = ScriptSerializer
    lookup_value_converter = "uuid"
    write_scope = "run"  # a token needs it for methods that are missing here, before it gets 405
    operations: ClassVar = {
        **dict.fromkeys(("list", "retrieve", "versions"), "script.view"),
        **dict.fromkeys(("create", "update", "partial_update", "destroy"), "script.change"),
        "dry_run": "run.start",
    }
    filterset_class = ScriptFilter
    search_fields = ["name", "description", "text"]
    ordering_fields = ["name", "created_at", "changed_at"]

    def perform_create(self, serializer: BaseSerializer[Script]) -> None:
        """Store a new script; a text that pgbench must not execute is refused with its line."""
        author, values = person(self.request.user), serializer.validated_data
        placement = Placement.out_of(values)
        team = placement.team_of_new(self.request, "script.change")
        with script_errors():
            script = library.create(**values, author=author, team=team)
        placement.put(self.request, script)
        serializer.instance = self.get_queryset().get(pk=script.pk)

    def perform_update(self, serializer: BaseSerializer[Script]) -> None:
        """Change a script; a changed text becomes its next version."""
        script, values = cast("Script", serializer.instance), serializer.validated_data
        placement = Placement.out_of(values)
        placement.check(self.request, script)
        with script_errors():
            library.change(script, **values, author=person(self.request.user))
        placement.put(self.request, script)
        serializer.instance = self.get_queryset().get(pk=script.pk)

    def perform_destroy(self, instance: Script) -> None:
        """Delete a script with its versions; its runs keep the text that they executed."""
        library.remove(instance, author=person(self.request.user))

    @extend_schema(responses=VersionSerializer(many=True), filters=False)
    @action(detail=True)
    def versions(self, request: Request, pk: str) -> Response:
        """List all versions, newest first."""
        rows: Any = self.get_object().versions.select_related("author").order_by("-number")
        return self.get_paginated_response(VersionSerializer(self.paginate_queryset(rows), many=True).data)

    @extend_schema(request=DryRunSerializer, responses={201: RunSerializer})
    @action(detail=True, methods=["post"], url_path="dry-run")
    def dry_run(self, request: Request, pk: str) -> Response:
        """Queue a run of one transaction by one client; the run's log shows the result."""
        script, serializer = self.get_object(), DryRunSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        terms = dict(serializer.validated_data)
        version = self._version(script, terms.pop("version", None))
        with field_errors():
            author, access = person(request.user), Access.of(request)
            run = submit.submit(submit.dry_run_request(version, author=author, access=access, **terms))[0]
        return Response(RunSerializer(run).data, status=status.HTTP_201_CREATED)

    def _version(self, script: Script, number: int | None) -> ScriptVersion:
        versions = script.versions.select_related("script").order_by("-number")
        found = versions.first() if number is None else versions.filter(number=number).first()
        if found is None:
            raise NotFound(_("script %(script)s has no version %(number)s") % {"script": script, "number": number})
        return found
