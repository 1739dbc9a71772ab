"""The REST API of external endpoints."""

from typing import Any, ClassVar

import django_filters
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import ModelViewSet

from benchmarks.api.example_values import EXTERNAL
from benchmarks.errors import InvalidTarget
from benchmarks.models import ExternalEndpoint
from benchmarks.targets import external
from benchmarks.targets.external import EndpointValues
from core.accounts.people.placement import Placement
from core.rest.teams import EXAMPLE, OWNED, OwnedSerializer, TeamFilter
from core.rest.visible import VisibleField
from pools.api.example_values import CLUSTER
from pools.models import Cluster

DATABASE_OF_CLUSTER = _("Name of the database there; empty: as in the URI")


class ExternalEndpointSerializer(OwnedSerializer, serializers.ModelSerializer[ExternalEndpoint]):
    """An endpoint that a load logs in to, by its URI; passwords are write-only."""

    name = serializers.CharField(max_length=100)
    uri = serializers.CharField(
        help_text=format_lazy(_("`{example}`; answered without the password"), example=external.EXAMPLE)
    )
    pooled_by = serializers.CharField(
        max_length=60,
        default="",
        allow_blank=True,
        help_text=_("RDS Proxy, Odyssey, pgcat, PgBouncer; empty: no pooler"),
    )
    sslrootcert = serializers.CharField(
        default="", allow_blank=True, help_text=_("PEM text, for verify-ca, verify-full")
    )
    cluster: Any = VisibleField(
        queryset=Cluster.objects.all(),
        default=None,
        allow_null=True,
        help_text=_("The registered cluster that it routes to"),
    )
    cluster_database = serializers.CharField(max_length=63, default="", allow_blank=True, help_text=DATABASE_OF_CLUSTER)
    console_user = serializers.CharField(
        max_length=63,
        default="",
        allow_blank=True,
        help_text=_("A login of its console, if it is compatible with PgBouncer's"),
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
            *OWNED,
            "created_at",
        ]
        read_only_fields = ["id", "created_at"]

    example: dict[str, object] = {
        "id": EXTERNAL,
        "name": "rds-proxy",
        "uri": "postgresql://orders_app@proxy.example.org:5432/orders?sslmode=require",
        "pooled_by": "RDS Proxy",
        "cluster": CLUSTER,
        "cluster_database": "orders",
        **EXAMPLE,
    }

    def to_representation(self, instance: ExternalEndpoint) -> dict[str, object]:
        instance.uri = external.uri_of(instance)  # type: ignore[attr-defined]
        return super().to_representation(instance)


class ExternalEndpointFilter(django_filters.FilterSet):  # type: ignore[misc]  # django-filter carries no types
    """Endpoints by name, cluster and team."""

    team = TeamFilter()

    class Meta:
        model = ExternalEndpoint
        fields = ["name", "cluster", "team"]


class ExternalEndpointViewSet(ModelViewSet[ExternalEndpoint]):
    """Poolers and servers outside the panel that runs may load; never configured, and in no budget."""

    queryset = ExternalEndpoint.objects.select_related("cluster").prefetch_related("shared_with")
    serializer_class = ExternalEndpointSerializer
    lookup_value_converter = "uuid"
    operations: ClassVar = {
        **dict.fromkeys(("list", "retrieve"), "external.view"),
        **dict.fromkeys(("create", "update", "partial_update", "destroy"), "external.change"),
    }
    filterset_class = ExternalEndpointFilter
    search_fields = ["name", "pooled_by", "host", "database"]
    ordering_fields = ["name", "created_at"]

    def perform_create(self, serializer: BaseSerializer[ExternalEndpoint]) -> None:
        """Create an endpoint after a successful login."""
        values = serializer.validated_data
        placement = Placement.out_of(values)
        team = placement.team_of_new(self.request, "external.change")
        endpoint = _saved(ExternalEndpoint(team=team), values)
        placement.put(self.request, endpoint)
        serializer.instance = endpoint

    def perform_update(self, serializer: BaseSerializer[ExternalEndpoint]) -> None:
        """Change an endpoint; a URI without a password keeps that of the same login."""
        current, values = self.get_object(), serializer.validated_data
        placement = Placement.out_of(values)
        placement.check(self.request, current)
        kept = {name: getattr(current, name) for name in KEPT} | {"uri": external.uri_of(current)}
        serializer.instance = _saved(current, kept | values)
        placement.put(self.request, current)


KEPT = ("name", "pooled_by", "sslrootcert", "cluster", "cluster_database", "console_user")


def _saved(endpoint: ExternalEndpoint, values: EndpointValues) -> ExternalEndpoint:
    try:
        return external.save(endpoint, **values)
    except InvalidTarget as error:
        raise ValidationError(error.errors) from error
