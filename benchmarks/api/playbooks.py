"""The REST API of playbooks: those that come with the panel, and those that users add as TOML."""

from typing import Any, ClassVar
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from benchmarks.api.example_values import OPTIONS, PLAYBOOK_TEXT
from benchmarks.experiments import library
from benchmarks.experiments.playbook import InvalidPlaybook, PlaybookSpec
from core.accounts.access import Access
from core.accounts.models import FIRST_TEAM, Scope, Team
from core.accounts.people.ownership import team_of_new
from core.accounts.permissions import holds, person
from core.lib.known_fields import KnownFields
from core.rest.pagination import Pages
from core.rest.teams import OF_TEAM, TeamField

OF_ONE_TEAM = _("Only those that belong to this team")


class PlaybookArmSerializer(serializers.Serializer[Any]):
    """An arm of the matrix: `values` are the keys of its axis values, `published` the source's figures by metric."""

    key = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field of the answer, not the label of this one
    values = serializers.DictField()
    options = serializers.DictField()
    published = serializers.DictField()
    in_quick = serializers.BooleanField(help_text="Whether the quick form measures it")

    example: dict[str, object] = {
        "key": "clients=10,endpoint=pgbouncer",
        "label": "10 clients, PgBouncer",
        "values": {"clients": "10", "endpoint": "pgbouncer"},
        "options": OPTIONS,
        "in_quick": True,
    }


class PlaybookSerializer(serializers.Serializer[Any]):
    """A playbook as its TOML says; `quick` and `published_scale` are the sizes it can be carried out in."""

    name = serializers.CharField()
    title = serializers.CharField()
    summary = serializers.CharField(allow_blank=True)
    engine = serializers.CharField()
    source = serializers.DictField()  # type: ignore[assignment]
    axes = serializers.DictField()
    baseline = serializers.DictField()
    arms = PlaybookArmSerializer(many=True)
    metrics = serializers.ListField(child=serializers.CharField())
    derived = serializers.ListField(child=serializers.CharField())
    published = serializers.ListField(child=serializers.DictField())
    quick = serializers.DictField()
    published_scale = serializers.DictField()
    needs = serializers.ListField(child=serializers.CharField())
    built_in = serializers.BooleanField()
    team = serializers.UUIDField(allow_null=True, help_text=_("The id of its team; null for a built-in one"))
    toml = serializers.CharField()

    example: dict[str, object] = {
        "name": "orders-pooling",
        "title": "What a pool is worth for orders",
        "summary": "",
        "engine": "pgbench",
        "axes": {"clients": [{"key": "10", "label": "10", "explains": ""}]},
        "baseline": {"endpoint": "none"},
        "metrics": ["tps", "latency_avg_ms"],
        "derived": [],
        "published": [],
        "quick": {"repeats": 3, "dataset": {"scale": 10}, "options": {"duration": 10}, "axes": {}},
        "published_scale": {"repeats": 3, "dataset": {"scale": 10}, "options": {}, "axes": {}},
        "needs": ["a PgBouncer with a configuration folder"],
        "team": str(FIRST_TEAM),
        "toml": PLAYBOOK_TEXT,
    }


class AskedPlaybookSerializer(KnownFields):
    """A playbook to add: its text, which names it."""

    toml = serializers.CharField(trim_whitespace=False, max_length=library.MOST_CHARACTERS)
    team = TeamField(queryset=Team.objects.all(), required=False, help_text=OF_TEAM)


def shown(spec: PlaybookSpec, team: UUID | None) -> dict[str, object]:
    """Return the API's JSON of a playbook; the team is that of a user's one."""
    quick = {arm.key for arm in spec.arms(quick=True)}
    whole = {arm.key: arm for quick_form in (False, True) for arm in spec.arms(quick=quick_form)}
    return {
        "name": spec.name,
        "title": spec.title,
        "summary": spec.summary,
        "engine": spec.engine,
        "source": dict(spec.source),
        "axes": {
            name: [{"key": one.key, "label": one.label, "explains": one.explains, **one.sets} for one in values]
            for name, values in spec.axes.items()
        },
        "baseline": dict(spec.baseline),
        "arms": [
            {
                "key": arm.key,
                "label": arm.label,
                "values": dict(arm.values),
                "options": dict(arm.options),
                "published": dict(arm.published),
                "in_quick": arm.key in quick,
            }
            for arm in whole.values()
        ],
        "metrics": list(spec.metrics),
        "derived": list(spec.derived),
        "published": [dict(row) for row in spec.published],
        "quick": _scale(spec, quick=True),
        "published_scale": _scale(spec, quick=False),
        "needs": library.needs_in_words(spec),
        "built_in": spec.name in library.BUILT_IN,
        "team": team,
        "toml": spec.text,
    }


def _scale(spec: PlaybookSpec, *, quick: bool) -> dict[str, object]:
    scale = spec.scale(quick=quick)
    return {
        "repeats": scale.repeats,
        "dataset": dict(scale.dataset),
        "options": dict(scale.options),
        "axes": dict(scale.axes),
    }


class PlaybookViewSet(ViewSet):
    """Declared experiments: axes, arms, what was published, and how large they are carried out."""

    lookup_field = "name"
    lookup_value_regex = "[a-z0-9][a-z0-9-]{0,39}"
    lookup_value_converter = "slug"
    write_scope = "run"  # a token needs it for methods that are missing here, before it gets 405
    operations: ClassVar = {
        **dict.fromkeys(("list", "retrieve"), "playbook.view"),
        **dict.fromkeys(("create", "destroy"), "playbook.change"),
    }
    serializer_class = PlaybookSerializer
    pagination_class = Pages  # The API's description needs it; `list` pages by itself.

    @extend_schema(
        responses=PlaybookSerializer(many=True), parameters=[OpenApiParameter("team", UUID, description=OF_ONE_TEAM)]
    )
    def list(self, request: Request) -> Response:
        """All playbooks, the built-in ones first; with `team` those of a team."""
        pages, access, only = Pages(), Access.of(request), request.query_params.get("team")
        teams, asked = library.team_ids(access), serializers.UUIDField().run_validation(only) if only else None
        listed = (one for one in library.listed(access) if asked is None or teams.get(one.name) == asked)
        rows = pages.paginate_queryset([shown(one, teams.get(one.name)) for one in listed], request)
        return pages.get_paginated_response(rows or [])

    @extend_schema(responses=PlaybookSerializer)
    def retrieve(self, request: Request, name: str) -> Response:
        """Return one playbook with its arms."""
        access = Access.of(request)
        spec = library.find(name, access)
        return Response(shown(spec, None if spec.name in library.BUILT_IN else library.added(name, access).team_id))

    @extend_schema(request=AskedPlaybookSerializer, responses={201: PlaybookSerializer})
    def create(self, request: Request) -> Response:
        """Add a playbook; each fault of its text names the key and the line."""
        serializer = AskedPlaybookSerializer(data=request.data, context={"request": request})
        serializer.is_valid(raise_exception=True)
        team = team_of_new(request, serializer.validated_data.get("team"), "playbook.change")
        try:
            is_admin = holds(request.user, request.auth, Scope.ADMIN)
            spec = library.add(serializer.validated_data["toml"], person(request.user), is_admin=is_admin, team=team)
        except InvalidPlaybook as error:
            raise serializers.ValidationError(error.errors) from error
        return Response(shown(spec, team.pk), status=status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, name: str) -> Response:
        """Forget a user's playbook; the experiments that were made with it stay."""
        library.remove(name, Access.of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
