"""The REST API of who uses a pool, a pooler or a cluster, and of what the statements of a pool's database cost."""

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.access import Access
from core.accounts.models import Scope
from core.accounts.permissions import holds
from pools.diagnosis import apps, shared, statements
from pools.diagnosis.apps import App, Apps
from pools.diagnosis.diagnosis import place_of
from pools.diagnosis.statements import Statement, Step, TopStatements
from pools.errors import NotThere
from pools.models import Cluster, Pooler
from pools.poolers.pool_queue import PoolQueue

SORT = OpenApiParameter("sort", enum=list(statements.ORDERS), default="total", description=_("The largest come first"))


class AppSerializer(serializers.Serializer[App]):
    """The clients of one application and user."""

    application = serializers.CharField(allow_blank=True)
    user = serializers.CharField(allow_blank=True)
    clients = serializers.IntegerField()
    in_transaction = serializers.IntegerField()
    waiting = serializers.IntegerField()
    longest_wait_s = serializers.FloatField()
    oldest_transaction_s = serializers.FloatField(allow_null=True, help_text=_("Null where none is open or seen"))
    pools = serializers.ListField(child=serializers.CharField(), help_text=_("Those that they named on the pooler"))

    example: dict[str, object] = {
        "application": "checkout",
        "user": "orders_app",
        "clients": 24,
        "in_transaction": 9,
        "waiting": 3,
        "longest_wait_s": 3.2,
        "oldest_transaction_s": 12.4,
        "pools": ["orders"],
    }


class AppsSerializer(serializers.Serializer[Apps]):
    """The applications at one moment, those that wait longest first."""

    taken_at = serializers.DateTimeField()
    counts_clients = serializers.BooleanField(
        help_text=_("Clients that wait for server connections; otherwise sessions of the server, which wait for locks")
    )
    rows = AppSerializer(many=True)
    notes = serializers.ListField(child=serializers.CharField(), help_text=_("What could not be asked"))

    example: dict[str, object] = {"taken_at": "2026-03-05T16:12:00Z", "counts_clients": True, "notes": []}


class StatementSerializer(serializers.Serializer[Statement]):
    """A statement of one role."""

    role = serializers.CharField(allow_blank=True)
    query = serializers.CharField(allow_blank=True, help_text=_("With `$n` for literals"))
    text = serializers.SerializerMethodField()
    calls = serializers.IntegerField()
    total_ms = serializers.FloatField()
    mean_ms = serializers.FloatField()
    rows = serializers.IntegerField()
    share = serializers.FloatField(help_text=_("Percent of the time of all statements in the database"))

    example: dict[str, object] = {
        "role": "orders_app",
        "query": "UPDATE orders SET state = $1 WHERE id = $2",
        "text": None,
        "calls": 18402,
        "total_ms": 51231.7,
        "mean_ms": 2.784,
        "rows": 18402,
        "share": 41.3,
    }

    def get_text(self, statement: Statement) -> str | None:
        """Return the statement as pg_stat_statements has it to the scope `admin`, else null."""
        return statement.text if self.context["is_admin"] else None


class SetUpStepSerializer(serializers.Serializer[Step]):
    """A line to get pg_stat_statements, and where it goes."""

    where = serializers.CharField()
    line = serializers.CharField()

    example: dict[str, object] = {
        "where": "In database orders, as a superuser",
        "line": "CREATE EXTENSION pg_stat_statements;",
    }


class TopStatementsSerializer(serializers.Serializer[TopStatements]):
    """The costliest statements of a database; with `steps` there are none until those are done."""

    taken_at = serializers.DateTimeField()
    database = serializers.CharField()
    since = serializers.DateTimeField(allow_null=True, help_text=_("When counting began; null before PostgreSQL 14"))
    of_all = serializers.IntegerField(help_text=_("How many statements are counted"))
    statements = StatementSerializer(many=True)
    lacks = serializers.CharField(allow_blank=True)
    steps = SetUpStepSerializer(many=True)
    note = serializers.CharField(allow_blank=True)

    example: dict[str, object] = {
        "taken_at": "2026-03-05T16:12:00Z",
        "database": "orders",
        "since": "2026-03-01T00:00:00Z",
        "of_all": 118,
        "lacks": "",
        "steps": [],
        "note": "",
    }


class ApplicationActions(GenericViewSet[Any]):
    """Actions of a pool or an entry."""

    @extend_schema(responses=AppsSerializer, filters=False)
    @action(detail=True, pagination_class=None)
    def apps(self, request: Request, pk: str) -> Response:
        """Ask the pooler and the server, live, which applications and users are connected; 502 if it is silent."""
        return Response(AppsSerializer(apps.of_target(Access.of(request), self.get_object())).data)

    @extend_schema(parameters=[SORT], responses=TopStatementsSerializer, filters=False)
    @action(detail=True, pagination_class=None)
    def statements(self, request: Request, pk: str) -> Response:
        """Read what the statements of its database cost, from pg_stat_statements, or how to get that extension."""
        target, order = self.get_object(), request.query_params.get("sort", "total")
        if order not in statements.ORDERS:
            known = ", ".join(statements.ORDERS)
            raise serializers.ValidationError({"sort": [gettext("use one of %(known)s") % {"known": known}]})
        if target.cluster_id and not shared.sees_cluster(Access.of(request), target.cluster_id):
            raise PermissionDenied(gettext("the statements of a server are shown to those who see its cluster"))
        place = place_of(target, PoolQueue(target.name, 0))
        if place is None:
            raise NotThere(gettext("the server behind this entry is not registered, so it can't be asked"))
        found = statements.of_database(place, target.database, order)
        context = {"is_admin": holds(request.user, request.auth, Scope.ADMIN)}
        return Response(TopStatementsSerializer(found, context=context).data)


class PoolerApplicationAction(GenericViewSet[Pooler]):
    """Action of a pooler."""

    @extend_schema(responses=AppsSerializer, filters=False)
    @action(detail=True, pagination_class=None)
    def apps(self, request: Request, pk: str) -> Response:
        """Ask which applications and users its clients are, of all its pools; 502 if the console is silent."""
        return Response(AppsSerializer(apps.of_pooler(Access.of(request), self.get_object())).data)


class ClusterApplicationAction(GenericViewSet[Cluster]):
    """Action of a cluster."""

    @extend_schema(responses=AppsSerializer, filters=False)
    @action(detail=True, pagination_class=None)
    def apps(self, request: Request, pk: str) -> Response:
        """Ask which applications and users have sessions on its primary; 502 when the server does not answer."""
        return Response(AppsSerializer(apps.of_cluster(self.get_object())).data)
