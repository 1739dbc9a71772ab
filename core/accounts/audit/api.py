"""The REST API of the audit trail: list, read, and export as lines of JSON."""

from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.viewsets import ReadOnlyModelViewSet

from core.accounts.access import Access
from core.accounts.audit.entries import EntryFilter, visible
from core.accounts.audit.pages import NDJSON, download
from core.audit.models import Change, Entry


class AuditEntrySerializer(serializers.ModelSerializer[Entry]):
    """An act: who, from where, what, the values before and after, why, and how it ended.

    `hash` is the SHA-256 of all the others, `previous` that of the entry with the number before.
    """

    change = serializers.SerializerMethodField()

    class Meta:
        model = Entry
        fields = [field.attname for field in Entry._meta.fields]
        read_only_fields = fields

    example: dict[str, object] = {
        "number": 1841,
        "at": "2026-03-05T16:02:30.512000Z",
        "actor_kind": "token",
        "actor_id": "c1a4de6c-2a0f-4f4c-9c1b-8b7a6d5e4f30",
        "actor_name": "anna: ci",
        "asked_by": "",
        "source": "192.0.2.7",
        "action": "pool.change",
        "object_kind": "pool",
        "object_id": "0d8f2f7e-6c1b-4a59-9f0e-3b2a1c4d5e6f",
        "object_name": "orders",
        "cluster_id": "7f1f3f0a-4a5c-4d3e-9b60-2f8f0f6a1b2c",
        "team_id": "00000000-0000-4000-8000-000000000001",
        "change": {"before": {"size": 5}, "after": {"size": 8}},
        "reason": "the shop has more workers since Monday",
        "outcome": "",
        "previous": "0f343b0931126a20f133d67c2b018a3b1d3f6a1f5f3c1c1c4a0b2f3d4e5f6a7b",
        "hash": "9b74c9897bac770ffc029102a200c5de0f1e2d3c4b5a69788796a5b4c3d2e1f0",
    }

    @extend_schema_field({"type": "object", "additionalProperties": {"type": "object"}})
    def get_change(self, entry: Entry) -> Change:
        """Return the fields `before` and `after`, by name; a secret's value is the word `changed`."""
        return entry.fields


class AuditEntryViewSet(ReadOnlyModelViewSet[Entry]):
    """The audit trail, newest first: all of it for administrators, for owners what belongs to their teams."""

    queryset = Entry.objects.all()
    serializer_class = AuditEntrySerializer
    lookup_value_converter = "int"
    operations = dict.fromkeys(("list", "retrieve", "export"), "audit.view")
    filterset_class = EntryFilter
    search_fields = ["actor_name", "action", "object_name"]
    ordering_fields = ["number"]

    def get_queryset(self) -> QuerySet[Entry]:
        """Return what the caller may see."""
        return visible(Access.of(self.request))

    def check_object_permissions(self, request: Request, obj: Entry) -> None:
        """Let all in that `get_queryset` left: an entry outlives what it is about, and so belongs to no record."""

    @extend_schema(responses={(200, NDJSON): OpenApiTypes.STR})
    @action(detail=False, pagination_class=None)
    def export(self, request: Request) -> HttpResponseBase:
        """Stream the entries that the filters choose, a line of JSON for each as the list has it, oldest first."""
        return download(request._request, self.filter_queryset(self.get_queryset()))
