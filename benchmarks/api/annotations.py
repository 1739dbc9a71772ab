"""The REST API of a run's annotations: name, note, tags, and whether it is the baseline of its target."""

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from benchmarks.api.serializers import RunSerializer
from benchmarks.models import Run
from benchmarks.results import annotations
from core.lib.known_fields import KnownFields


class AnnotationSerializer(KnownFields):
    """The fields to change; omitted ones stay."""

    name = serializers.CharField(required=False, allow_blank=True, max_length=200)
    note = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    tags = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text=_("All tags of the run, in any order; others are removed"),
    )


class AnnotationsOfRun(GenericViewSet[Run]):
    """`PATCH runs/{id}/` and `runs/{id}/baseline/`."""

    @extend_schema(request=AnnotationSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the name, note or tags of a run; its figures can't be changed."""
        serializer = AnnotationSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        run = self.get_object()
        annotations.annotate(run, **serializer.validated_data)
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=None, responses={200: RunSerializer})
    @action(detail=True, methods=["post", "delete"])
    def baseline(self, request: Request, pk: str) -> Response:
        """POST: make the run the baseline of its target, in place of another. DELETE: remove it as the baseline."""
        run = self.get_object()
        if request.method == "DELETE":
            annotations.unpin(run)
        else:
            annotations.pin(run)
        return Response(self.get_serializer(run).data)
