"""The REST API of the shelf."""

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ModelViewSet

from core.accounts.access import allow
from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from pools.api.example_values import CLUSTER, POOLER
from pools.inventory import shelf
from pools.models import ShelfEntry
from pools.provisioning import shelf_return


class ShelfEntrySerializer(KnownFields, serializers.ModelSerializer[ShelfEntry]):
    """A cluster that clients of /v2/ can claim by size and region; `claimed_at` is null while it is free."""

    claimed_by = serializers.CharField(source="claimed_by.username", default=None, read_only=True, allow_null=True)

    class Meta:
        model = ShelfEntry
        fields = ["cluster", "name", "size", "region", "pooler", "drop_on_return", "claimed_at", "claimed_by", "tags"]
        read_only_fields = ["name", "claimed_at", "tags"]
        extra_kwargs: dict[str, object] = {"cluster": {"validators": []}}  # pools.inventory.shelf says which are taken

    example: dict[str, object] = {
        "cluster": CLUSTER,
        "name": "",
        "size": "db-s-2vcpu-4gb",
        "region": "fra1",
        "pooler": POOLER,
        "drop_on_return": True,
        "claimed_at": None,
        "claimed_by": None,
        "tags": [],
    }

    def validate(self, given: dict[str, object]) -> dict[str, object]:
        """Refuse another cluster for an existing entry."""
        if self.instance and given.get("cluster", self.instance.cluster) != self.instance.cluster:
            text = _("an entry stays with its cluster %(cluster)s: put the other one on the shelf")
            raise serializers.ValidationError({"cluster": [text % {"cluster": self.instance.cluster}]})
        return given


class ShelfViewSet(ModelViewSet[ShelfEntry]):
    """Clusters on the shelf, which clients of /v2/ claim and give back."""

    queryset = ShelfEntry.objects.select_related("cluster", "claimed_by")
    serializer_class = ShelfEntrySerializer
    lookup_value_converter = "uuid"
    destructive = frozenset({"give_back"})
    operations = {
        "list": "shelf.view",
        "retrieve": "shelf.view",
        "create": "shelf.change",
        "update": "shelf.change",
        "partial_update": "shelf.change",
        "destroy": "shelf.change",
        "give_back": "shelf.change",
    }
    filterset_fields = {"size": ["exact"], "region": ["exact"], "claimed_at": ["isnull"]}
    search_fields = ["name", "cluster__name"]
    ordering_fields = ["name", "size", "region", "claimed_at"]

    def perform_create(self, serializer: serializers.BaseSerializer[ShelfEntry]) -> None:
        """Put a registered cluster without pools on the shelf."""
        values = serializer.validated_data
        allow(self.request, values["cluster"])
        allow(self.request, values.get("pooler"), to="pool.create")
        serializer.instance = shelf.put(values["cluster"], values, person(self.request.user))

    def perform_update(self, serializer: serializers.BaseSerializer[ShelfEntry]) -> None:
        """Change what clients ask for, the pooler, or what a return drops."""
        allow(self.request, serializer.validated_data.get("pooler"), to="pool.create")
        serializer.instance = shelf.change(self.get_object(), serializer.validated_data, person(self.request.user))

    def perform_destroy(self, instance: ShelfEntry) -> None:
        """Take a cluster off the shelf; it stays registered; 409 while it is claimed."""
        shelf.take_off(instance, person(self.request.user))

    @extend_schema(request=None, responses=ShelfEntrySerializer)
    @action(detail=True, methods=["post"], url_path="return")
    def give_back(self, request: Request, pk: str) -> Response:
        """Give a claimed cluster back in its client's place, without its pools; 409 where it is free."""
        entry = self.get_object()
        shelf_return.give_back(entry.cluster, person(request.user))
        return Response(self.get_serializer(self.get_object()).data)
