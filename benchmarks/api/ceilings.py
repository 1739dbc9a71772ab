"""The REST API of ceilings."""

from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView
from rest_framework.viewsets import ModelViewSet

from benchmarks.forms.ceilings import LIMITS, CeilingColumns, faults
from benchmarks.models import Ceiling
from core.accounts.permissions import HasScope
from core.lib.known_fields import KnownFields
from pools.api.example_values import CLUSTER


class SuperuserSets(BasePermission):
    """Everybody may read; only superusers may write, since ceilings limit staff."""

    message = _("only superusers may set run limits: they hold for staff")

    def has_permission(self, request: Request, view: APIView) -> bool:
        return request.method in SAFE_METHODS or bool(request.user and request.user.is_superuser)


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
    permission_classes = [HasScope, SuperuserSets]
    operations: ClassVar = {
        **dict.fromkeys(("list", "retrieve"), "ceiling.view"),
        **dict.fromkeys(("create", "update", "partial_update", "destroy"), "ceiling.change"),
    }
    filterset_fields = ["cluster", "holder"]
    ordering_fields = ["id", *LIMITS]
