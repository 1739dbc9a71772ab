"""The REST API of settings profiles."""

from typing import Any, ClassVar

import django_filters
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import ModelViewSet

from benchmarks.api.example_values import PROFILE
from benchmarks.library.settings_profiles import restart, store, validation
from benchmarks.models import SettingsProfile
from core.accounts.access import Access
from core.accounts.models import Scope
from core.accounts.people.placement import Placement
from core.accounts.permissions import holds, person
from core.rest.teams import EXAMPLE, OWNED, OwnedSerializer, TeamFilter
from pools.models import Cluster


class ProfileSerializer(OwnedSerializer, serializers.ModelSerializer[SettingsProfile]):
    """A set of server settings: `values` is name → value as postgresql.conf takes it (`"4GB"`, `"off"`)."""

    values = serializers.DictField(child=serializers.CharField(allow_blank=True, trim_whitespace=False))
    name = serializers.CharField(max_length=100)

    class Meta:
        model = SettingsProfile
        fields = ["id", "name", "description", "values", *OWNED, "created_at"]
        read_only_fields = ["id", "created_at"]

    example: dict[str, object] = {
        "id": PROFILE,
        "name": "larger-memory",
        "description": "For the playbook tuning",
        "values": {"shared_buffers": "4GB", "work_mem": "32MB"},
        **EXAMPLE,
    }


class SettingFindingSerializer(serializers.Serializer[Any]):
    """The check of one setting against a server; `problem`: why it would be refused, `warning`: its risk."""

    name = serializers.CharField()
    value = serializers.CharField()
    now = serializers.CharField()
    needs_restart = serializers.BooleanField()
    changes = serializers.BooleanField(help_text=_("Whether the server has another value now"))
    problem = serializers.CharField()
    warning = serializers.CharField()

    example: dict[str, object] = {
        "name": "shared_buffers",
        "value": "4GB",
        "now": "128MB",
        "needs_restart": True,
        "changes": True,
        "problem": "",
        "warning": "",
    }


class ProfileVerdictSerializer(serializers.Serializer[Any]):
    """The check of a profile against a server."""

    refusal = serializers.CharField(help_text=_("Why the panel's role may not change settings; empty: it may"))
    findings = SettingFindingSerializer(many=True)
    warnings = serializers.ListField(child=serializers.CharField(), help_text=_("Includes those of the memory budget"))
    to_restart = serializers.ListField(child=serializers.CharField(), help_text=_("Settings that need a restart"))
    may_restart = serializers.BooleanField(help_text=_("Whether the panel may restart this cluster"))

    example: dict[str, object] = {
        "refusal": "",
        "warnings": [],
        "to_restart": ["shared_buffers"],
    }


class ProfileFilter(django_filters.FilterSet):  # type: ignore[misc]  # django-filter carries no types
    """Profiles by name and team."""

    team = TeamFilter()

    class Meta:
        model = SettingsProfile
        fields = ["name", "team"]


class ProfileViewSet(ModelViewSet[SettingsProfile]):
    """Named sets of server settings; a run's option `settings_profile` names one."""

    queryset = SettingsProfile.objects.prefetch_related("shared_with")
    serializer_class = ProfileSerializer
    lookup_value_converter = "uuid"
    write_scope = "run"  # a token needs it for methods that are missing here, before it gets 405
    operations: ClassVar = {
        **dict.fromkeys(("list", "retrieve", "check"), "profile.view"),
        **dict.fromkeys(("create", "update", "partial_update", "destroy"), "profile.change"),
    }
    filterset_class = ProfileFilter
    search_fields = ["name", "description"]
    ordering_fields = ["name", "created_at"]

    def perform_create(self, serializer: BaseSerializer[SettingsProfile]) -> None:
        """Create a profile; invalid settings are refused by name, settings beyond tuning need the scope `admin`."""
        author, values = person(self.request.user), serializer.validated_data
        placement = Placement.out_of(values)
        team = placement.team_of_new(self.request, "profile.change")
        profile = store.create(**values, author=author, is_admin=self._is_admin(), team=team)
        placement.put(self.request, profile)
        serializer.instance = profile

    def perform_update(self, serializer: BaseSerializer[SettingsProfile]) -> None:
        """Change the name, description or values; this affects later runs only."""
        profile, values = self.get_object(), serializer.validated_data
        placement = Placement.out_of(values)
        placement.check(self.request, profile)
        current = {"name": profile.name, "values": profile.values, "description": profile.description}
        store.change(profile, **(current | values), is_admin=self._is_admin())
        placement.put(self.request, profile)
        serializer.instance = profile

    def _is_admin(self) -> bool:
        return holds(self.request.user, self.request.auth, Scope.ADMIN)

    def perform_destroy(self, instance: SettingsProfile) -> None:
        """Delete a profile; 409 while a run has it in force."""
        store.remove(instance)

    @extend_schema(
        responses=ProfileVerdictSerializer,
        parameters=[OpenApiParameter("cluster", OpenApiTypes.UUID, required=True)],
        filters=False,
    )
    @action(detail=True)
    def check(self, request: Request, pk: str) -> Response:
        """Check each setting against a cluster's server now."""
        cluster_id = serializers.UUIDField().run_validation(request.query_params.get("cluster"))
        cluster = get_object_or_404(Access.of(request).visible(Cluster.objects.all()), pk=cluster_id)
        verdict = validation.check(cluster, self.get_object().values, is_admin=self._is_admin())
        may_restart = restart.command_for(cluster) is not None
        found = {name: getattr(verdict, name) for name in ("refusal", "findings", "warnings", "to_restart")}
        return Response(ProfileVerdictSerializer(found | {"may_restart": may_restart}).data)
