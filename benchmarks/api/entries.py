"""The REST API of loads through entries that are not managed here."""

from typing import ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.external import ExternalEndpointSerializer
from benchmarks.errors import InvalidTarget
from benchmarks.targets import entries
from core.accounts.access import find
from pools.api.entries import EntryLoginSerializer
from pools.models import Entry


class EntryEndpointView(APIView):
    """The endpoint of runs through an entry."""

    operations: ClassVar = {"post": "external.change"}

    @extend_schema(request=EntryLoginSerializer, responses=ExternalEndpointSerializer)
    def post(self, request: Request, pk: UUID) -> Response:
        """Try a login through the entry and keep it; runs then take `target: {entry}` or the endpoint's id."""
        entry = find(request, Entry.objects.select_related("pooler", "cluster"), pk=pk)
        serializer = EntryLoginSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        try:
            endpoint = entries.endpoint_of(entry, **serializer.validated_data)
        except InvalidTarget as error:
            raise ValidationError(error.errors) from error
        return Response(ExternalEndpointSerializer(endpoint, context={"request": request}).data)
