"""The REST API of external endpoints."""

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import ModelViewSet

from benchmarks.errors import InvalidTarget
from benchmarks.models import ExternalEndpoint
from benchmarks.targets import external
from panel.lib.known_fields import KnownFields
from pools.models import Cluster

DATABASE_OF_CLUSTER = "What the database is called there; empty: as in the URI"


class ExternalEndpointSerializer(KnownFields, serializers.ModelSerializer[ExternalEndpoint]):
    """Where a load logs in, by its URI; passwords are taken and never answered."""

    name = serializers.CharField(max_length=100)
    uri = serializers.CharField(help_text=f"`{external.EXAMPLE}`; answered without the password")
    pooled_by = serializers.CharField(
        max_length=60, default="", allow_blank=True, help_text="RDS Proxy, Odyssey, pgcat, PgBouncer; empty: nothing"
    )
    sslrootcert = serializers.CharField(default="", allow_blank=True, help_text="PEM text, for verify-ca, verify-full")
    cluster: Any = serializers.PrimaryKeyRelatedField(
        queryset=Cluster.objects.all(), default=None, allow_null=True, help_text="The registered one that it leads to"
    )
    cluster_database = serializers.CharField(max_length=63, default="", allow_blank=True, help_text=DATABASE_OF_CLUSTER)
    console_user = serializers.CharField(
        max_length=63, default="", allow_blank=True, help_text="A login of its console, where that is PgBouncer's"
    )
    console_password = serializers.CharField(write_only=True, default="", allow_blank=True)

    class Meta:
        model = ExternalEndpoint
        fields = [
            "id",
            "name",
            "uri",
            "pooled_by",
            "sslrootcert",
            "cluster",
            "cluster_database",
            "console_user",
            "console_password",
            "created_at",
        ]
        read_only_fields = ["id", "created_at"]

    def to_representation(self, instance: ExternalEndpoint) -> dict[str, Any]:
        """With the URI, less its password."""
        instance.uri = external.uri_of(instance)  # type: ignore[attr-defined]
        return super().to_representation(instance)


class ExternalEndpointViewSet(ModelViewSet[ExternalEndpoint]):
    """Poolers and servers of others, which runs may load; they count in no budget and are never configured."""

    queryset = ExternalEndpoint.objects.select_related("cluster")
    serializer_class = ExternalEndpointSerializer
    lookup_value_converter = "uuid"
    write_scope = "admin"
    search_fields = ["name", "pooled_by", "host", "database"]
    ordering_fields = ["name", "created_at"]

    def perform_create(self, serializer: BaseSerializer[ExternalEndpoint]) -> None:
        """A new one, logged in to first."""
        serializer.instance = _saved(ExternalEndpoint(), serializer.validated_data)

    def perform_update(self, serializer: BaseSerializer[ExternalEndpoint]) -> None:
        """Another URI, or what is said of it; without a password in it that of the same login stays."""
        current = self.get_object()
        kept = {name: getattr(current, name) for name in KEPT} | {"uri": external.uri_of(current)}
        serializer.instance = _saved(current, kept | serializer.validated_data)


KEPT = ("name", "pooled_by", "sslrootcert", "cluster", "cluster_database", "console_user")


def _saved(endpoint: ExternalEndpoint, values: dict[str, Any]) -> ExternalEndpoint:
    try:
        return external.save(endpoint, **values)
    except InvalidTarget as error:
        raise ValidationError(error.errors) from error
