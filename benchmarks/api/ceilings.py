"""The REST API of ceilings."""

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.viewsets import ModelViewSet

from benchmarks.forms.ceilings import LIMITS, CeilingColumns, faults
from benchmarks.models import Ceiling
from core.lib.known_fields import KnownFields
from pools.api.example_values import CLUSTER


class CeilingSerializer(KnownFields, serializers.ModelSerializer[Ceiling]):
    """The limits of options; null: only the program's own limit. Without a cluster it applies to all clusters."""

    class Meta:
        model = Ceiling
        fields = ["id", "cluster", "holder", *LIMITS]
        extra_kwargs = {name: {"min_value": 1} for name in LIMITS}
        validators: list[Any] = []  # `faults` checks that cluster and holder are unique

    example: dict[str, object] = {
        "id": 2,
        "cluster": CLUSTER,
        "holder": "staff",
        "clients": 200,
        "threads": 8,
        "duration": 600,
        "scale": 1000,
    }

    def validate(self, given: CeilingColumns) -> CeilingColumns:
        itself = self.instance if isinstance(self.instance, Ceiling) else Ceiling()
        current: CeilingColumns = {
            "cluster": itself.cluster,
            "holder": itself.holder,
            "clients": itself.clients,
            "threads": itself.threads,
            "duration": itself.duration,
            "scale": itself.scale,
        }
        if wrong := [message for _, message in faults({**current, **given}, itself)]:
            raise serializers.ValidationError(wrong)
        return given


class CeilingViewSet(ModelViewSet[Ceiling]):
    """Limits for runs, by who starts them and by cluster; if several apply, the lowest wins."""

    queryset = Ceiling.objects.all()
    serializer_class = CeilingSerializer
    lookup_value_converter = "int"
    operations: ClassVar = {
        **dict.fromkeys(("list", "retrieve"), "ceiling.view"),
        **dict.fromkeys(("create", "update", "partial_update", "destroy"), "ceiling.change"),
    }
    filterset_fields = ["cluster", "holder"]
    ordering_fields = ["id", *LIMITS]
