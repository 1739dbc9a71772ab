"""The REST API of ceilings."""

from typing import Any

from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.viewsets import ModelViewSet

from benchmarks.forms.ceilings import LIMITS, faults
from benchmarks.models import Ceiling
from panel.accounts.permissions import HasScope
from panel.lib.known_fields import KnownFields


class SuperuserSets(BasePermission):
    """Everybody may read; staff, for whom ceilings hold, may not set them."""

    message = "only superusers may set ceilings: they hold for staff"

    def has_permission(self, request: Request, view: Any) -> bool:
        """Whether the caller only reads, or is a superuser."""
        return request.method in SAFE_METHODS or bool(request.user and request.user.is_superuser)


class CeilingSerializer(KnownFields, serializers.ModelSerializer[Ceiling]):
    """The most of each option; null: no limit but the program's. Without a cluster it holds for every one."""

    class Meta:
        model = Ceiling
        fields = ["id", "cluster", "holder", *LIMITS]
        extra_kwargs = {name: {"min_value": 1} for name in LIMITS}
        validators: list[Any] = []  # the rule of one for each cluster and holder is told by faults

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        """Some limit is set, and each cluster and holder have one ceiling."""
        itself = self.instance if isinstance(self.instance, Ceiling) else Ceiling()
        current = {name: getattr(itself, name) for name in ("cluster", "holder", *LIMITS)}
        if wrong := [message for _, message in faults(current | given, itself)]:
            raise serializers.ValidationError(wrong)
        return given


class CeilingViewSet(ModelViewSet[Ceiling]):
    """The most that runs may ask for, by who starts them and what they are aimed at; the lowest that holds counts."""

    queryset = Ceiling.objects.all()
    serializer_class = CeilingSerializer
    lookup_value_converter = "int"
    permission_classes = [HasScope, SuperuserSets]
    filterset_fields = ["cluster", "holder"]
    ordering_fields = ["id", *LIMITS]
