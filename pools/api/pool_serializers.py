"""Pools and where their clients log in as JSON; passwords are write-only. The rules are in `pools.inventory`."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.lib.known_fields import KnownFields
from core.rest.compiled import CompiledSerializer
from pools import connection_strings
from pools.api.example_values import CLUSTER, POOL, POOLER
from pools.api.fields import password_field
from pools.api.health import HELP, HealthSerializer, as_json
from pools.clusters import endpoints
from pools.clusters.endpoints import Endpoint
from pools.inventory import budget
from pools.models import Pool
from pools.monitoring import health

OF_ALLOWED_USERS = _(
    "Roles that may log in besides `user`, and then work as it; of an inbound pool, the only ones; `*`: every user "
    "that the pooler knows. PgBouncer only"
)


class EndpointSerializer(CompiledSerializer):
    """The address at which clients of a pool log in, without the password."""

    host = serializers.CharField()
    port = serializers.IntegerField()
    database = serializers.CharField()
    user = serializers.CharField()
    uri = serializers.SerializerMethodField()

    example: dict[str, object] = {
        "host": "pgbouncer1.example.org",
        "port": 6432,
        "database": "orders",
        "user": "orders_app",
        "uri": "postgresql://orders_app@pgbouncer1.example.org:6432/orders",
    }

    def get_uri(self, endpoint: Endpoint) -> str:
        """Return the URI without a password."""
        return connection_strings.render(endpoint, "uri", reveal=False)


class UsersField(serializers.ListField):
    """Role names, which a pool keeps one a line."""

    child = serializers.CharField(max_length=63)
    is_of_the_value = True  # see `core.rest.compiled`

    def to_representation(self, data: Any) -> list[str]:  # noqa: ANN401 (DRF says a list, and a pool has a text)
        """Return the list of a pool's text."""
        return data.split("\n") if data else []


class PoolSerializer(CompiledSerializer, KnownFields, serializers.ModelSerializer[Pool]):
    """A pool; an empty `user` is the inbound user, `state` is whether the spec is live."""

    version = serializers.IntegerField(required=False, min_value=1)
    user_password = password_field(help_text=_("Of `user`, where the panel does not know it; verified by a login"))
    settings = serializers.DictField(required=False)
    allowed_users = UsersField(required=False, help_text=OF_ALLOWED_USERS)
    over_budget_confirm = serializers.CharField(
        write_only=True, required=False, allow_blank=True, help_text=_("The cluster's name, to exceed its budget")
    )
    process_count = serializers.IntegerField(
        source="pooler.process_count",
        read_only=True,
        help_text=_("Processes of its pooler that take clients: `size` and its reserve hold for each"),
    )
    most_connections = serializers.SerializerMethodField(
        help_text=_("Server connections that it may open in all processes; null where its pooler's pools share them")
    )
    health = serializers.SerializerMethodField(help_text=HELP)
    connection = serializers.SerializerMethodField()

    class Meta:
        model = Pool
        fields = [
            "id",
            "version",
            "name",
            "pooler",
            "cluster",
            "through",
            "target",
            "database",
            "user",
            "user_password",
            "allowed_users",
            "password_for_developers",
            "mode",
            "size",
            "process_count",
            "most_connections",
            "over_budget_confirm",
            "over_budget_by",
            "made_for",
            "settings",
            "state",
            "state_reason",
            "health",
            "paused_until",
            "connection",
            "created_at",
            "updated_at",
        ]
        read_only_fields = ["over_budget_by", "state", "state_reason", "paused_until"]
        extra_kwargs: dict[str, object] = {
            "name": {"required": False, "help_text": _("Of a Pgpool-II or HAProxy: the database's, if left out")},
            "size": {
                "required": False,
                "help_text": _("Of a Pgpool-II: the number of its children, of a HAProxy: its maxconn, if left out"),
            },
        }
        validators: list[Any] = []  # pools.inventory.pools says which names are taken

    example: dict[str, object] = {
        "id": POOL,
        "version": 2,
        "name": "orders",
        "pooler": POOLER,
        "cluster": CLUSTER,
        "through": None,
        "database": "orders",
        "user": "orders_app",
        "user_password": "ROLE-PASSWORD",
        "allowed_users": ["orders_batch"],
        "password_for_developers": False,
        "mode": "transaction",
        "size": 10,
        "most_connections": 10,
        "over_budget_confirm": "",
        "over_budget_by": "",
        "made_for": "",
        "settings": {"min_pool_size": 2},
        "state": "applied",
        "state_reason": "",
        "paused_until": None,
    }

    def get_most_connections(self, pool: Pool) -> int | None:
        """Return the connections that the pool takes of the budget, its reserve included."""
        return budget.most_connections(pool)

    @extend_schema_field(HealthSerializer())
    def get_health(self, pool: Pool) -> Mapping[str, object]:
        """Return the health and the time of its sample; of a list, those that were read for the whole page."""
        return as_json(pool.__dict__.get("listed_health") or health.of_each([pool])[pool.pk])

    @extend_schema_field(EndpointSerializer())
    def get_connection(self, pool: Pool) -> Mapping[str, object]:
        """Return the address for clients; `uri` is empty where the pool was refused before it was ever live."""
        address = EndpointSerializer(endpoints.address_of_pool(pool)).data
        return address | {"uri": ""} if pool.was_never_live else address


class ConnectionSerializer(serializers.Serializer[dict[str, str]]):
    """An endpoint in the syntax of one client: `{as, text}`."""

    text = serializers.CharField()

    example: dict[str, object] = {"as": "uri", "text": "postgresql://orders_app@pgbouncer1.example.org:6432/orders"}

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add `as`, which is a keyword of Python and can't be declared above."""
        return {"as": serializers.CharField(), **super().get_fields()}
