"""The REST API of engines: the load programs, the generators that have them, and why one is unavailable."""

from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from benchmarks.generators import selection
from benchmarks.models import Generator


class EngineSerializer(serializers.Serializer[Any]):
    """An engine; runs can use it if `missing` is empty."""

    name = serializers.CharField()
    generators = serializers.DictField(
        child=serializers.CharField(), help_text=_("Live generators that have it: name → version of the program there")
    )
    missing = serializers.CharField(allow_blank=True, help_text=_("Why it is unavailable; empty: it is available"))

    example: dict[str, object] = {"name": "pgbench", "generators": {"local": "17.6"}, "missing": ""}


class EngineViewSet(GenericViewSet[Generator]):
    """The load programs that runs can use."""

    serializer_class = EngineSerializer
    filter_backends = []
    operations: ClassVar = {"list": "engine.view"}
    queryset = Generator.objects.none()

    @extend_schema(responses=EngineSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List the engines, each with the generators that have it."""
        page = self.paginate_queryset(selection.offers())
        return self.get_paginated_response(self.get_serializer(page, many=True).data)
