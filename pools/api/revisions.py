"""The REST API of a pooler's revisions: the list, one with its files and changes, and the rollback."""

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from pools.api.revision_serializers import FileSerializer, RevisionSerializer
from pools.deployment import diff as revision_diff
from pools.deployment import rollback as rollbacks
from pools.models import Pooler, Revision


class DiffSerializer(serializers.Serializer[Any]):
    """A file that differs, as `diff -u` writes it, secrets masked; `\\ secret changed` follows a changed one."""

    name = serializers.CharField()
    change = serializers.ChoiceField(["added", "removed", "changed"])
    added = serializers.IntegerField()
    removed = serializers.IntegerField()
    text = serializers.CharField()

    example: dict[str, object] = {
        "name": "pgbouncer.ini",
        "change": "changed",
        "text": "-orders = host=db1.example.org pool_size=8\n+orders = host=db1.example.org pool_size=10\n",
    }


class RevisionDetailSerializer(RevisionSerializer):
    """A revision with its files, secrets masked, and their differences from those of `against`."""

    wishes = serializers.JSONField(source="specs", read_only=True)
    against = serializers.IntegerField(allow_null=True, read_only=True)
    files = FileSerializer(many=True, read_only=True)
    diff = DiffSerializer(many=True, read_only=True)

    class Meta(RevisionSerializer.Meta):
        fields = [*RevisionSerializer.Meta.fields, "wishes", "against", "files", "diff"]
        read_only_fields = fields

    example: dict[str, object] = RevisionSerializer.example | {
        "wishes": {"orders": {"mode": "transaction", "size": 10}},
        "against": 11,
    }


class AskedRollbackSerializer(KnownFields):
    """The number of the applied revision to return to."""

    revision = serializers.IntegerField(min_value=1)


class RevisionActions(GenericViewSet[Pooler]):
    """Actions of a pooler on its revisions."""

    @extend_schema(responses=RevisionSerializer(many=True), filters=False)
    @action(detail=True)
    def revisions(self, request: Request, pk: str) -> Response:
        """List its revisions, the latest first."""
        rows: Any = Revision.objects.filter(pooler=self.get_object()).select_related("author")
        return self.get_paginated_response(RevisionSerializer(self.paginate_queryset(rows), many=True).data)

    @extend_schema(
        parameters=[
            OpenApiParameter("number", int, location="path"),
            OpenApiParameter("against", int, description=_("The number to compare with; else the applied one before")),
        ],
        responses=RevisionDetailSerializer,
        filters=False,
    )
    @action(detail=True, url_path="revisions/<int:number>", url_name="revision")
    def revision(self, request: Request, pk: str, number: int) -> Response:
        """Return one revision: its steps, its files with secrets masked, and its changes."""
        found = _numbered(self.get_object(), str(number))
        asked = request.query_params.get("against")
        against = _numbered(found.pooler, asked) if asked else revision_diff.before(found)
        answer = RevisionSerializer(found).data | {
            "wishes": dict(found.specs),
            "against": against.number if against else None,
            "files": revision_diff.masked_files(found),
            "diff": DiffSerializer(revision_diff.of_revision(found, against), many=True).data,
        }
        return Response(answer)

    @extend_schema(request=AskedRollbackSerializer, responses={202: RevisionSerializer})
    @action(detail=True, methods=["post"])
    def rollback(self, request: Request, pk: str) -> Response:
        """Request a rollback to an applied revision; `revisions/` shows its progress."""
        serializer = AskedRollbackSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        pooler = self.get_object()
        revision = _numbered(pooler, str(serializer.validated_data["revision"]))
        rollbacks.roll_back(pooler, revision, person(request.user))
        return Response(RevisionSerializer(revision).data, status=status.HTTP_202_ACCEPTED)


def _numbered(pooler: Pooler, number: str) -> Revision:
    """Return the revision of that number. Raises `NotFound`."""
    found = pooler.revisions.filter(number=int(number)).first() if number.isdecimal() else None
    if found is None:
        text = gettext("pooler %(pooler)s has no revision %(number)s")
        raise NotFound(text % {"pooler": pooler, "number": number})
    return found
