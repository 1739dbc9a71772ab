"""The REST API of acts that wait for a second person, and of a cluster's rules for them."""

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet, ReadOnlyModelViewSet

from core.accounts.access import Access
from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from pools.api.example_values import CLUSTER
from pools.approvals import requests, rules
from pools.models import Act, ApprovalRequest, ApprovalRules, ApprovalState, Cluster

APPROVAL = "7d1f6c2a-3b4e-4f5a-9c8d-0e1f2a3b4c5d"


class ApprovalSerializer(serializers.ModelSerializer[ApprovalRequest]):
    """An act that waits, or waited, for a second person."""

    state = serializers.ChoiceField(ApprovalState.choices)

    class Meta:
        model = ApprovalRequest
        fields = [
            "id",
            "state",
            "text",
            "verb",
            "cluster",
            "cluster_name",
            "reason",
            "requester_name",
            "decided_by",
            "outcome",
            "created_at",
            "expires_at",
            "decided_at",
        ]
        read_only_fields = fields

    example: dict[str, object] = {
        "id": APPROVAL,
        "text": "Drop database reports of cluster orders-production",
        "verb": "database.drop",
        "cluster": CLUSTER,
        "cluster_name": "orders-production",
        "reason": "moved to the warehouse",
        "requester_name": "dana",
        "decided_by": "",
        "outcome": "",
        "decided_at": None,
    }


class HeldAddressSerializer(serializers.Serializer[Any]):
    """Where the request is."""

    id = serializers.UUIDField()
    url = serializers.CharField()

    example: dict[str, object] = {"id": APPROVAL, "url": f"/api/v1/approvals/{APPROVAL}/"}


class HeldBackSerializer(serializers.Serializer[Any]):
    """Nothing was done yet: the act waits for a second person."""

    detail = serializers.CharField()
    approval = HeldAddressSerializer()

    example: dict[str, object] = {
        "detail": "cluster orders-production needs a second person for this, so nothing was done yet: "
        f"it waits at /approvals/{APPROVAL}/"
    }


class ApprovalRulesSerializer(KnownFields):
    """The kinds of acts, and the size beyond which a pool needs a second person too."""

    acts = serializers.ListField(child=serializers.ChoiceField(Act.choices), help_text=_("Kinds of acts"))
    pool_size = serializers.IntegerField(
        allow_null=True, min_value=1, max_value=rules.LARGEST, help_text=_("The largest without; null: any")
    )

    example: dict[str, object] = {"acts": ["drop", "kill"], "pool_size": 100}


class ApprovalViewSet(ReadOnlyModelViewSet[ApprovalRequest]):
    """Acts that wait, or waited, for a second person, the latest first."""

    queryset: QuerySet[ApprovalRequest] = ApprovalRequest.objects.select_related("cluster")
    serializer_class = ApprovalSerializer
    lookup_value_converter = "uuid"
    operations = {
        "list": "approval.view",
        "retrieve": "approval.view",
        "approve": "approval.decide",
        "reject": "approval.decide",
    }
    filterset_fields = ["state", "verb", "cluster"]
    search_fields = ["text"]
    ordering_fields = ["created_at", "expires_at", "state"]

    def get_queryset(self) -> QuerySet[ApprovalRequest]:
        """Close what is too old before it is shown."""
        ApprovalRequest.objects.expire()
        return super().get_queryset()

    @extend_schema(request=None, responses=ApprovalSerializer)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: str) -> Response:
        """Carry out what another person asked for; 403 for who asked, 409 where it is closed or no longer fits."""
        return self._answer(requests.approve(self.get_object(), Access.of(request)))

    @extend_schema(request=None, responses=ApprovalSerializer)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, pk: str) -> Response:
        """Close it with nothing done; who asked for it withdraws it."""
        return self._answer(requests.reject(self.get_object(), Access.of(request)))

    def _answer(self, approval: ApprovalRequest) -> Response:
        return Response(self.get_serializer(approval).data)


class ApprovalRulesActions(GenericViewSet[Cluster]):
    """Which acts on a cluster need a second person."""

    @extend_schema(responses=ApprovalRulesSerializer)
    @action(detail=True, url_path="approval-rules")
    def approval_rules(self, request: Request, pk: str) -> Response:
        """Return which acts need a second person."""
        return _shown(rules.of_cluster(self.get_object()))

    @extend_schema(request=ApprovalRulesSerializer, responses={200: ApprovalRulesSerializer, 202: HeldBackSerializer})
    @approval_rules.mapping.put
    def set_approval_rules(self, request: Request, pk: str) -> Response:
        """Set which acts need a second person; asking for less needs one itself, where any act does."""
        serializer = ApprovalRulesSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        return _shown(rules.change(self.get_object(), **serializer.validated_data, author=person(request.user)))


def _shown(found: ApprovalRules) -> Response:
    return Response({"acts": found.acts, "pool_size": found.pool_size})
