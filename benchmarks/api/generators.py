"""The REST API of generators: the workers that were seen, what they have, and what they do."""

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from benchmarks.api.serializers import GeneratorSerializer
from benchmarks.generators import registry
from benchmarks.models import Generator

NAME = OpenApiParameter("name", str, OpenApiParameter.PATH, description="The generator's name")


class GeneratorViewSet(GenericViewSet[Generator]):
    """The generators by name. 503 while Redis can't be asked who lives."""

    serializer_class = GeneratorSerializer
    filter_backends = []
    queryset = Generator.objects.none()
    lookup_value_converter = "str"
    write_scope = "admin"

    @extend_schema(responses=GeneratorSerializer(many=True))
    def list(self, request: Request) -> Response:
        """Each with its last heartbeat, its host, cores and engines, its way to each cluster, and what it carries."""
        page = self.paginate_queryset(registry.known())
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(parameters=[NAME])
    def retrieve(self, request: Request, pk: str) -> Response:
        """One generator by its name."""
        found = next((one for one in registry.known() if one.name == pk), None)
        if found is None:
            raise Http404
        return Response(self.get_serializer(found).data)

    @extend_schema(parameters=[NAME], responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Forget a generator that is gone; 409 while it lives."""
        if not registry.forget(pk):
            raise Http404
        return Response(status=status.HTTP_204_NO_CONTENT)
