"""The REST API of generators: the known workers, their engines, and the runs that they execute."""

from django.http import Http404
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from benchmarks.api.serializers import GeneratorSerializer, HostGeneratorSerializer
from benchmarks.generators import registry
from benchmarks.models import Generator

NAME = OpenApiParameter("name", str, OpenApiParameter.PATH, description=_("The generator's name"))


class GeneratorViewSet(GenericViewSet[Generator]):
    """Generators by name; 503 while Redis is unreachable and their state unknown."""

    serializer_class = GeneratorSerializer
    filter_backends = []
    queryset = Generator.objects.none()
    lookup_value_converter = "str"
    write_scope = "admin"

    @extend_schema(responses=GeneratorSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List generators with heartbeat, host, cores, engines, round trips to clusters, and current runs."""
        page = self.paginate_queryset(registry.known())
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(request=HostGeneratorSerializer, responses={201: GeneratorSerializer})
    def create(self, request: Request) -> Response:
        """Register a host that is reached by SSH as a generator; its pgbench is what runs use."""
        serializer = HostGeneratorSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        generator = registry.add_host(serializer.validated_data["ssh_host"], serializer.validated_data["name"])
        found = next(one for one in registry.known_or_remembered()[0] if one.name == generator.name)
        return Response(self.get_serializer(found).data, status=status.HTTP_201_CREATED)

    @extend_schema(parameters=[NAME])
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one generator by its name."""
        found = next((one for one in registry.known() if one.name == pk), None)
        if found is None:
            raise Http404
        return Response(self.get_serializer(found).data)

    @extend_schema(parameters=[NAME], responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Remove a generator that is gone; 409 while it is alive."""
        if not registry.forget(pk):
            raise Http404
        return Response(status=status.HTTP_204_NO_CONTENT)
