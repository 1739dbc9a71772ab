"""The REST API of entries: what clients can name on each pooler, whoever wrote it."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any
from uuid import UUID

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet, ReadOnlyModelViewSet

from core.lib.known_fields import KnownFields
from pools import connection_strings
from pools.advice import client_limits, login_cost, mode_linter
from pools.advice.client_advice import Situation
from pools.api.applications import ApplicationActions
from pools.api.client_advice import MODE, ClientsSerializer, LoginSerializer, ModeReportSerializer, advice_of
from pools.api.console import VERBS, ConsoleVerbs
from pools.api.example_values import CLUSTER, POOLER
from pools.api.filters import EntryFilter
from pools.api.health import HELP, HealthSerializer, as_json
from pools.api.pool_serializers import ConnectionSerializer
from pools.api.waiting import WaitingAction
from pools.clusters import endpoints
from pools.errors import IllegalTransition
from pools.models import Entry, LineSource, Mode, Pooler
from pools.monitoring import health
from pools.monitoring.health import KnownHealth

FORMAT = OpenApiParameter("as", enum=list(connection_strings.FORMATS), default="uri", description=_("For which client"))


class SourceSerializer(serializers.Serializer[LineSource]):
    """The file and line of an entry."""

    file = serializers.CharField()
    line = serializers.IntegerField()

    example: dict[str, object] = {"file": "/etc/pgbouncer/databases.ini", "line": 12}


class EntrySerializer(serializers.ModelSerializer[Entry]):
    """An entry as the last check of its pooler found it; an empty `user` lets each client work as itself.

    `pool` is the pool of the panel that it is, null for one that is not managed here; `most_connections` is null where
    nothing limits them.
    """

    source: Any = SourceSerializer(read_only=True, allow_null=True)
    most_connections = serializers.IntegerField(read_only=True, allow_null=True)
    addresses: Any = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        read_only=True,
        help_text=_("Of its hosts that are names, as the pooler resolved them; one that it never used is missing"),
    )
    health = serializers.SerializerMethodField(help_text=HELP)

    class Meta:
        model = Entry
        fields = [
            "id",
            "name",
            "pooler",
            "pool",
            "cluster",
            "host",
            "port",
            "addresses",
            "database",
            "user",
            "mode",
            "size",
            "reserve",
            "max_connections",
            "most_connections",
            "connections",
            "paused",
            "disabled",
            "health",
            "automatic",
            "paused_until",
            "source",
            "kept_because",
            "seen_at",
        ]
        read_only_fields = fields

    @cached_property
    def _health(self) -> dict[UUID, KnownHealth]:
        """The health of the entries of this answer, by id."""
        rows: Any = self.parent.instance if self.parent else [self.instance]
        return health.of_each(rows)

    @extend_schema_field(HealthSerializer())
    def get_health(self, entry: Entry) -> Mapping[str, object]:
        """Return the health and the time of its sample."""
        return as_json(self._health[entry.pk])

    example: dict[str, object] = {
        "id": "6a1f0c3e-2b4d-4f58-9c7a-8e5d1b0f3a21",
        "name": "reports",
        "pool": None,
        "host": "db1.example.org",
        "port": 5432,
        "database": "orders",
        "user": "reports_app",
        "size": 10,
        "reserve": 2,
        "max_connections": 0,
        "most_connections": 12,
        "connections": 4,
        "paused_until": None,
        "source": None,
        "kept_because": "",
        "pooler": POOLER,
        "cluster": CLUSTER,
    }


class EntryLoginSerializer(KnownFields):
    """A login that the pooler lets in; `database` where the entry leads to whatever its clients name."""

    user = serializers.CharField(max_length=63)
    password = serializers.CharField(write_only=True, default="", allow_blank=True, trim_whitespace=False)
    database = serializers.CharField(max_length=63, default="", allow_blank=True, help_text=_("Of a HAProxy"))


class EntryLoginsSerializer(serializers.Serializer[dict[str, object]]):
    """The measured cost of logins through an entry, beside that of the same login to its cluster."""

    note = serializers.CharField(
        allow_blank=True, help_text=_("Why the login to the cluster was not measured; empty where it was")
    )
    logins = LoginSerializer(many=True)
    remedies = serializers.ListField(child=serializers.CharField())

    example: dict[str, object] = {
        "note": "",
        "remedies": ["Keep connections open in the application: each login costs 3.1 ms."],
    }


class EntryActions(GenericViewSet[Pooler]):
    """The entries of one pooler."""

    @extend_schema(responses=EntrySerializer(many=True), filters=False)
    @action(detail=True)
    def entries(self, request: Request, pk: str) -> Response:
        """List what clients can name on the pooler, as its last check found it."""
        rows: Any = self.get_object().entries.select_related("pooler")
        return self.get_paginated_response(EntrySerializer(self.paginate_queryset(rows), many=True).data)


class EntryViewSet(ConsoleVerbs, WaitingAction, ApplicationActions, ReadOnlyModelViewSet[Entry]):
    """The names that clients can connect to on all poolers; `managed=false` lists those without a pool of the panel."""

    queryset = Entry.objects.select_related("pooler", "cluster", "pool__pooler", "pool__cluster")
    serializer_class = EntrySerializer
    lookup_value_converter = "uuid"
    operations = {
        "list": "entry.view",
        "retrieve": "entry.view",
        "connection": "entry.view",
        "clients": "entry.view",
        "waiting": "entry.view",
        "apps": "entry.view",
        "statements": "entry.view",
        "logins": "entry.logins",
        "mode_check": "entry.check",
        **dict.fromkeys(VERBS, "entry.console"),
    }
    filterset_class = EntryFilter
    search_fields = ["name", "database", "user", "pooler__name", "cluster__name"]
    ordering_fields = ["name", "size", "connections", "pooler"]

    @extend_schema(parameters=[FORMAT], responses=ConnectionSerializer, filters=False)
    @action(detail=True)
    def connection(self, request: Request, pk: str) -> Response:
        """Return the text that a client needs to log in, in its syntax, without a password: the panel knows none."""
        as_ = request.query_params.get("as", "uri")
        endpoint = endpoints.of_entry(self.get_object())
        return Response({"as": as_, "text": connection_strings.render(endpoint, as_, reveal=False)})

    @extend_schema(responses=ClientsSerializer, filters=False)
    @action(detail=True)
    def clients(self, request: Request, pk: str) -> Response:
        """Report what clients have to change for the entry's mode and its pooler's release."""
        entry = self.get_object()
        now = Situation(entry.mode, client_limits.of(entry.pooler))
        return Response(ClientsSerializer(advice_of(now)).data)

    @extend_schema(request=EntryLoginSerializer, responses=EntryLoginsSerializer, filters=False)
    @action(detail=True, methods=["post"])
    def logins(self, request: Request, pk: str) -> Response:
        """Log in several times through the entry and to its cluster, and report where the time went.

        The login is used now and kept nowhere.
        """
        entry = self.get_object()
        serializer = EntryLoginSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        if not entry.database and not serializer.validated_data["database"]:
            text = gettext("name the database: this entry leads to whatever its clients name")
            raise ValidationError({"database": [text]})
        found, note = login_cost.measure_entry(entry, **serializer.validated_data)
        remedies = login_cost.remedies_of(entry.pooler, found[0], is_managed=entry.pool is not None)
        return Response(EntryLoginsSerializer({"note": note, "logins": found, "remedies": remedies}).data)

    @extend_schema(parameters=[MODE], responses=ModeReportSerializer, filters=False)
    @action(detail=True, url_path="mode-check")
    def mode_check(self, request: Request, pk: str) -> Response:
        """Report what the mode would break in the entry's database; 409 where its server is not registered."""
        entry, mode = self.get_object(), request.query_params.get("as")
        if mode is not None and mode not in Mode.values:
            text = gettext("%(mode)r is not a pool mode: choose one of %(choices)s")
            raise ValidationError({"as": [text % {"mode": mode, "choices": ", ".join(Mode.values)}]})
        if entry.cluster is None:
            text = gettext("the server at %(address)s is not registered: register it as a cluster, then check again")
            raise IllegalTransition(text % {"address": entry.address})
        spec = entry.as_pool()
        spec.mode = mode or spec.mode
        return Response(ModeReportSerializer(mode_linter.lint(spec)).data)
