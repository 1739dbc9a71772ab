"""The REST API of the current activity on a cluster's server."""

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.models import Scope
from core.accounts.permissions import holds
from pools.api.cluster_serializers import Address, AddressSerializer
from pools.clusters import activity as cluster_activity
from pools.clusters import topology
from pools.clusters.activity import Bar, IdleMemory, Insights, OwnSetting, StateTotal, Transaction, Wait
from pools.clusters.memory_budget import Change, MemoryBudget, Term
from pools.models import Cluster

NODE = OpenApiParameter("node", description=_("A node's id, or `own`: the cluster's own address; default: the primary"))


class StateTotalSerializer(serializers.Serializer[StateTotal]):
    """The connections in one state."""

    state = serializers.CharField(help_text=_("As PostgreSQL names it; `hidden` where the panel's role may not see it"))
    connections = serializers.IntegerField()
    longest_s = serializers.FloatField(allow_null=True, help_text=_("Seconds since the longest entered it"))

    example: dict[str, object] = {"state": "idle", "connections": 9, "longest_s": 41.7}


class GroupSerializer(serializers.Serializer[Bar]):
    """The connections of one database, role or application; the last one may sum up several `others`."""

    name = serializers.CharField(allow_blank=True)
    others = serializers.IntegerField(help_text=_("How many other names it sums up; 0: only the one named"))
    connections = serializers.IntegerField()
    states = serializers.SerializerMethodField()

    example: dict[str, object] = {"name": "orders", "others": 0, "connections": 12, "states": {"active": 3, "idle": 9}}

    def get_states(self, bar: Bar) -> dict[str, int]:
        """Map each state to its connections."""
        return {part.state: part.connections for part in bar.parts}


class TransactionSerializer(serializers.Serializer[Transaction]):
    """An open transaction; the query is truncated, and omitted where it mentions a password."""

    pid = serializers.IntegerField()
    database = serializers.CharField()
    role = serializers.CharField()
    application = serializers.CharField(allow_blank=True)
    client = serializers.CharField(allow_null=True, help_text=_("Null over a Unix socket"))
    state = serializers.CharField()
    transaction_s = serializers.FloatField()
    in_state_s = serializers.FloatField(allow_null=True)
    wait_event_type = serializers.CharField(allow_null=True)
    wait_event = serializers.CharField(allow_null=True)
    query = serializers.CharField(allow_blank=True, help_text=_("With `$n` for literals, as in pg_stat_statements"))
    text = serializers.SerializerMethodField()

    example: dict[str, object] = {
        "pid": 41772,
        "database": "orders",
        "role": "orders_app",
        "application": "checkout",
        "client": "10.20.0.14",
        "state": "idle in transaction",
        "transaction_s": 2.4,
        "in_state_s": 1.9,
        "wait_event_type": "Client",
        "wait_event": "ClientRead",
        "query": "UPDATE orders SET state = $1 WHERE id = $2",
        "text": None,
    }

    def get_text(self, transaction: Transaction) -> str | None:
        """Return the query with its literals to the scope `admin`, else null."""
        return transaction["text"] if self.context["is_admin"] else None


class WaitSerializer(serializers.Serializer[Wait]):
    """The event that sessions that are not idle wait for; empty: they run."""

    type = serializers.CharField(allow_blank=True)
    event = serializers.CharField(allow_blank=True)
    sessions = serializers.IntegerField()

    example: dict[str, object] = {"type": "Client", "event": "ClientRead", "sessions": 1}


class IdleMemorySerializer(serializers.Serializer[IdleMemory]):
    """The memory of idle connections; if not measured, a range with its `basis`."""

    connections = serializers.IntegerField()
    measured = serializers.SerializerMethodField()
    basis = serializers.CharField()
    each_low_bytes = serializers.IntegerField(source="each.low")
    each_high_bytes = serializers.IntegerField(source="each.high")
    total_low_bytes = serializers.IntegerField(source="total.low")
    total_high_bytes = serializers.IntegerField(source="total.high")

    example: dict[str, object] = {
        "connections": 9,
        "basis": "published figures of a backend",
        "each_low_bytes": 1500000,
        "each_high_bytes": 14500000,
        "total_low_bytes": 13500000,
        "total_high_bytes": 130500000,
    }

    def get_measured(self, idle: IdleMemory) -> bool:
        """Return False where the figures are estimates."""
        return idle.measured is not None


class TermSerializer(serializers.Serializer[Term]):
    """A summand of the memory budget."""

    name = serializers.CharField()
    how = serializers.CharField()
    bytes = serializers.IntegerField(source="size")

    example: dict[str, object] = {"name": "shared_buffers", "how": "as set", "bytes": 4294967296}


class ChangeSerializer(serializers.Serializer[Change]):
    """A setting that would satisfy the rule."""

    setting = serializers.CharField()
    now = serializers.CharField()
    proposed = serializers.CharField()
    needs_restart = serializers.BooleanField()
    why = serializers.CharField()

    example: dict[str, object] = {
        "setting": "work_mem",
        "now": "64MB",
        "proposed": "32MB",
        "why": "max_connections × work_mem alone would take 6.4 GB",
    }


class MemorySerializer(serializers.Serializer[MemoryBudget]):
    """max_connections × work_mem + shared_buffers + temp_buffers + maintenance_work_mem + system ≤ memory."""

    memory_bytes = serializers.IntegerField(source="memory", allow_null=True, help_text=_("Null: set `memory_mb`"))
    memory_source = serializers.CharField(source="source", allow_blank=True)
    terms = TermSerializer(many=True)
    total_bytes = serializers.IntegerField(source="total")
    over_by_bytes = serializers.IntegerField(source="over_by", allow_null=True, help_text=_("Negative where it fits"))
    fits = serializers.BooleanField(allow_null=True)
    shared_buffers_share = serializers.FloatField(
        source="shared_share", allow_null=True, help_text=_("0.25 to 0.4 is usual")
    )
    changes = ChangeSerializer(many=True)

    example: dict[str, object] = {
        "memory_bytes": 17179869184,
        "memory_source": "as registered",
        "total_bytes": 11811160064,
        "over_by_bytes": -5368709120,
        "fits": True,
        "shared_buffers_share": 0.25,
        "changes": [],
    }


class OwnSettingSerializer(serializers.Serializer[OwnSetting]):
    """A memory setting of a database or a role."""

    database = serializers.CharField(allow_null=True)
    role = serializers.CharField(allow_null=True)
    setting = serializers.CharField()


class InsightsSerializer(serializers.Serializer[Insights]):
    """The activity on a server at one moment."""

    server = serializers.SerializerMethodField()
    taken_at = serializers.DateTimeField()
    sees_all = serializers.BooleanField(help_text=_("False: grant pg_monitor to see the sessions of others"))
    connections = serializers.IntegerField(help_text=_("Without the panel's own"))
    by_state = StateTotalSerializer(source="states", many=True)
    by_database = GroupSerializer(many=True)
    by_role = GroupSerializer(many=True)
    by_application = GroupSerializer(many=True)
    transactions = TransactionSerializer(many=True)
    waits = WaitSerializer(many=True)
    idle_memory = IdleMemorySerializer(source="idle")
    memory = MemorySerializer()
    own_settings = OwnSettingSerializer(many=True)

    example: dict[str, object] = {
        "taken_at": "2026-03-05T16:12:00Z",
        "sees_all": True,
        "connections": 12,
        "own_settings": [{"database": None, "role": "reports", "setting": "work_mem=128MB"}],
    }

    @extend_schema_field(AddressSerializer())
    def get_server(self, snapshot: Insights) -> Address:
        """Return the host and port of the server."""
        host, port = snapshot.place.address
        return {"host": host, "port": port}


class InsightActions(GenericViewSet[Cluster]):
    """Actions of a cluster on its server's activity."""

    @extend_schema(parameters=[NODE], responses=InsightsSerializer, filters=False)
    @action(detail=True)
    def insights(self, request: Request, pk: str) -> Response:
        """Return the current activity; 502 when the server does not answer."""
        place = topology.chosen(self.get_object(), request.query_params.get("node", ""))
        context = {"is_admin": holds(request.user, request.auth, Scope.ADMIN)}
        return Response(InsightsSerializer(cluster_activity.of_place(place), context=context).data)
