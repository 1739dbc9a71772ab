"""What people say of a run, over the API: its name, note, tags, and whether others are measured by it."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from benchmarks.models import Run
from benchmarks.results import annotations
from panel.lib.known_fields import KnownFields


class AnnotationSerializer(KnownFields):
    """Any of them; what is left out stays."""

    name = serializers.CharField(required=False, allow_blank=True, max_length=200)
    note = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    tags = serializers.ListField(child=serializers.CharField(), required=False, help_text="All of them, in any order")


class AnnotationsOfRun(GenericViewSet[Run]):
    """`PATCH runs/{id}/` and `runs/{id}/baseline/`."""

    @extend_schema(request=AnnotationSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Say something of the run; its figures can't be changed."""
        reported = AnnotationSerializer(data=request.data)
        reported.is_valid(raise_exception=True)
        run = self.get_object()
        annotations.annotate(run, **reported.validated_data)
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=None)
    @action(detail=True, methods=["post", "delete"])
    def baseline(self, request: Request, pk: str) -> Response:
        """POST: measure the other runs on its target by it, and no longer by another; DELETE: measure none by it."""
        run = self.get_object()
        if request.method == "DELETE":
            annotations.unpin(run)
        else:
            annotations.pin(run)
        return Response(self.get_serializer(run).data)
