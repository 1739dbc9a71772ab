"""The REST API that registers many poolers at once, to be watched."""

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.access import Access
from core.accounts.models import Team
from core.accounts.people.placement import Placement
from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from core.rest.teams import OF_TEAM, TeamField
from pools.api.example_values import POOLER
from pools.api.fields import password_field
from pools.inventory import pasted_poolers
from pools.inventory.pasted_poolers import Outcome
from pools.models import Pooler, PoolerKind, usual_kind
from pools.poolers import kinds_that


class WatchSerializer(KnownFields):
    """The list, and the login that all its lines share; a URI's own login counts for its line."""

    lines = serializers.CharField(
        max_length=40_000, help_text=_("One pooler a line: `host`, `host:port` or a `postgresql://` URI")
    )
    kind = serializers.ChoiceField(
        [one for one in PoolerKind.choices if one[0] in kinds_that("has_console_login")],
        default=usual_kind(),
    )
    admin_user = serializers.CharField(max_length=63, default="pooldeck")
    admin_password = password_field()
    team = TeamField(queryset=Team.objects.all(), required=False, help_text=OF_TEAM)


class WatchedLineSerializer(serializers.Serializer[Outcome]):
    """The outcome of one line; a `failed` one has no pooler, and its `error` says why."""

    line = serializers.IntegerField(source="line.number")
    text = serializers.CharField(source="line.text", help_text=_("Without the password of a URI"))
    state = serializers.ChoiceField(["watched", "known", "failed"])
    pooler = serializers.UUIDField(source="pooler.pk", default=None, allow_null=True)
    name = serializers.CharField(source="pooler.name", default="", allow_blank=True)
    server_version = serializers.CharField(source="pooler.server_version", default="", allow_blank=True)
    entries = serializers.IntegerField()
    unregistered = serializers.IntegerField(
        source="elsewhere", help_text=_("Entries whose server is not a registered cluster")
    )
    error = serializers.CharField(allow_blank=True)

    example: dict[str, object] = {
        "text": "pgbouncer1.example.org",
        "name": "pgbouncer1.example.org",
        "server_version": "PgBouncer 1.24.1",
        "entries": 5,
        "error": "",
        "pooler": POOLER,
    }


class WatchedSerializer(serializers.Serializer[dict[str, list[Outcome]]]):
    """The outcome of each line, in order."""

    results = WatchedLineSerializer(many=True)


class WatchActions(GenericViewSet[Pooler]):
    """Registration of a list of poolers."""

    @extend_schema(request=WatchSerializer, responses=WatchedSerializer, filters=False)
    @action(detail=False, methods=["post"])
    def watch(self, request: Request) -> Response:
        """Ask the consoles of a list at once; those that answer are registered and watched, the others are not."""
        serializer = WatchSerializer(data=request.data, context=self.get_serializer_context())
        serializer.is_valid(raise_exception=True)
        login = dict(serializer.validated_data)
        team = Placement.out_of(login).team_of_new(request, "pooler.create")
        lines = pasted_poolers.read(login.pop("lines"))
        known = Access.of(request).visible(Pooler.objects.all())
        found = list(pasted_poolers.watch(lines, login, person(request.user), team=team, known=known))
        return Response(WatchedSerializer({"results": found}).data)
