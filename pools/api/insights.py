"""The REST API of what goes on in a cluster's server now."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from pools.api.serializers import AddressSerializer
from pools.clusters import activity as cluster_activity
from pools.clusters import topology
from pools.clusters.activity import Bar, IdleMemory, Insights
from pools.clusters.memory_budget import MemoryBudget
from pools.models import Cluster

NODE = OpenApiParameter("node", description="A node's id, or `own`: the cluster's own address; default: the primary")


class StateTotalSerializer(serializers.Serializer[Any]):
    """The connections in one state."""

    state = serializers.CharField(help_text="PostgreSQL's word; `hidden` where the panel's role may not see it")
    connections = serializers.IntegerField()
    longest_s = serializers.FloatField(allow_null=True, help_text="Since when the longest is in it")


class GroupSerializer(serializers.Serializer[Bar]):
    """The connections of one database, role or application; the last may stand for several `others`."""

    name = serializers.CharField(allow_blank=True)
    others = serializers.IntegerField(help_text="How many further names it stands for; 0: the one named")
    connections = serializers.IntegerField()
    states = serializers.SerializerMethodField()

    def get_states(self, bar: Bar) -> dict[str, int]:
        """State → connections."""
        return {part.state: part.connections for part in bar.parts}


class TransactionSerializer(serializers.Serializer[dict[str, Any]]):
    """An open transaction; the query is cut, and left out where it speaks of a password."""

    pid = serializers.IntegerField()
    database = serializers.CharField()
    role = serializers.CharField()
    application = serializers.CharField(allow_blank=True)
    client = serializers.CharField(allow_null=True, help_text="Null over a Unix socket")
    state = serializers.CharField()
    transaction_s = serializers.FloatField()
    in_state_s = serializers.FloatField(allow_null=True)
    wait_event_type = serializers.CharField(allow_null=True)
    wait_event = serializers.CharField(allow_null=True)
    query = serializers.CharField(allow_blank=True)


class WaitSerializer(serializers.Serializer[dict[str, Any]]):
    """What sessions that are not idle wait for; empty: they don't wait."""

    type = serializers.CharField(allow_blank=True)
    event = serializers.CharField(allow_blank=True)
    sessions = serializers.IntegerField()


class IdleMemorySerializer(serializers.Serializer[IdleMemory]):
    """What idle connections take; not measured: a range, and `basis` says which."""

    connections = serializers.IntegerField()
    measured = serializers.SerializerMethodField()
    basis = serializers.CharField()
    each_low_bytes = serializers.IntegerField(source="each.low")
    each_high_bytes = serializers.IntegerField(source="each.high")
    total_low_bytes = serializers.IntegerField(source="total.low")
    total_high_bytes = serializers.IntegerField(source="total.high")

    def get_measured(self, idle: IdleMemory) -> bool:
        """Whether the figures are real ones."""
        return idle.measured is not None


class TermSerializer(serializers.Serializer[Any]):
    """A summand of the memory budget."""

    name = serializers.CharField()
    how = serializers.CharField()
    bytes = serializers.IntegerField(source="size")


class ChangeSerializer(serializers.Serializer[Any]):
    """A setting that would keep the rule."""

    setting = serializers.CharField()
    now = serializers.CharField()
    proposed = serializers.CharField()
    needs_restart = serializers.BooleanField()
    why = serializers.CharField()


class MemorySerializer(serializers.Serializer[MemoryBudget]):
    """max_connections × work_mem + shared_buffers + temp_buffers + maintenance_work_mem + system ≤ memory."""

    memory_bytes = serializers.IntegerField(source="memory", allow_null=True, help_text="Null: state `memory_mb`")
    memory_source = serializers.CharField(source="source", allow_blank=True)
    terms = TermSerializer(many=True)
    total_bytes = serializers.IntegerField(source="total")
    over_by_bytes = serializers.IntegerField(source="over_by", allow_null=True, help_text="Negative where it fits")
    fits = serializers.BooleanField(allow_null=True)
    shared_buffers_share = serializers.FloatField(
        source="shared_share", allow_null=True, help_text="0.25 to 0.4 is usual"
    )
    changes = ChangeSerializer(many=True)


class OwnSettingSerializer(serializers.Serializer[dict[str, Any]]):
    """A memory setting that a database or a role has of its own."""

    database = serializers.CharField(allow_null=True)
    role = serializers.CharField(allow_null=True)
    setting = serializers.CharField()


class InsightsSerializer(serializers.Serializer[Insights]):
    """One look at a server."""

    server = serializers.SerializerMethodField()
    taken_at = serializers.DateTimeField()
    sees_all = serializers.BooleanField(help_text="False: grant pg_monitor to see the sessions of others")
    connections = serializers.IntegerField(help_text="But for the one that looks")
    by_state = StateTotalSerializer(source="states", many=True)
    by_database = GroupSerializer(many=True)
    by_role = GroupSerializer(many=True)
    by_application = GroupSerializer(many=True)
    transactions = TransactionSerializer(many=True)
    waits = WaitSerializer(many=True)
    idle_memory = IdleMemorySerializer(source="idle")
    memory = MemorySerializer()
    own_settings = OwnSettingSerializer(many=True)

    @extend_schema_field(AddressSerializer())
    def get_server(self, snapshot: Insights) -> Any:
        """Where it listens."""
        host, port = snapshot.place.address
        return {"host": host, "port": port}


class InsightActions(GenericViewSet[Cluster]):
    """The action of a cluster that looks into its server."""

    @extend_schema(parameters=[NODE], responses=InsightsSerializer, filters=False)
    @action(detail=True)
    def insights(self, request: Request, pk: str) -> Response:
        """What goes on there now; 502 when it can't be asked."""
        place = topology.chosen(self.get_object(), request.query_params.get("node", ""))
        return Response(InsightsSerializer(cluster_activity.of_place(place)).data)
