"""The REST API of pools."""

import logging

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ModelViewSet

from panel.accounts.permissions import person
from pools import connection_strings
from pools.api.client_advice import ModeAdvice
from pools.api.console import ConsoleVerbs
from pools.api.serializers import ConnectionSerializer, PoolSerializer
from pools.api.sql_rights import sql_right
from pools.api.versions import expected_version
from pools.clusters import endpoints
from pools.inventory import pools
from pools.models import Pool

logger = logging.getLogger(__name__)

FORMAT = OpenApiParameter("as", enum=list(connection_strings.FORMATS), default="uri", description="For which client")
REVEAL = OpenApiParameter("reveal", enum=["1"], description="Put the password in; asks for the scope `admin`")
ROLE = OpenApiParameter("role", description="Of a pool of the inbound user: whom the text is for; else YOUR_ROLE")


def asked_role(request: Request) -> str:
    """Whom a text is for; raises `ValidationError` where no role can be called so."""
    field = serializers.CharField(max_length=63, allow_blank=True)
    try:
        role: str = field.run_validation(request.query_params.get("role", ""))
    except serializers.ValidationError as error:
        raise serializers.ValidationError({"role": error.detail}) from None
    return role


class PoolViewSet(ConsoleVerbs, ModeAdvice, ModelViewSet[Pool]):
    """Pools; a write is saved as a wish (`state` pending) and brought live by a worker."""

    queryset = Pool.objects.wanted().select_related("pooler", "cluster")
    serializer_class = PoolSerializer
    lookup_value_converter = "uuid"
    write_scope = "apply"
    action_scopes = {"mode_check": "apply", "logins": "run"}
    filterset_fields = ["name", "pooler", "cluster", "database", "user", "mode", "state"]
    search_fields = ["name", "database", "user", "pooler__name", "cluster__name"]
    ordering_fields = ["name", "size", "state", "created_at", "updated_at"]

    def perform_create(self, serializer: serializers.BaseSerializer[Pool]) -> None:
        """Make a pool: checked and saved as a wish, then brought live by a worker."""
        serializer.instance = pools.create(
            serializer.validated_data, person(self.request.user), sql_right(self.request)
        )

    def perform_update(self, serializer: serializers.BaseSerializer[Pool]) -> None:
        """Change a pool in place, unless somebody else did since `version`."""
        values = dict(serializer.validated_data)
        version = expected_version(self.request, values)
        author, right = person(self.request.user), sql_right(self.request)
        serializer.instance = pools.change(self.get_object(), values, version, author, right)

    def perform_destroy(self, instance: Pool) -> None:
        """Remove a pool; it is gone from here at once, from the pooler when the worker has proven it."""
        pools.remove(instance, person(self.request.user))

    @extend_schema(parameters=[FORMAT, REVEAL, ROLE], responses=ConnectionSerializer, filters=False)
    @action(detail=True)
    def connection(self, request: Request, pk: str) -> Response:
        """What a client needs to log in, as the text that it takes."""
        pool, as_ = self.get_object(), request.query_params.get("as", "uri")
        reveal = request.query_params.get("reveal") == "1"
        endpoint = endpoints.of_pool(pool, asked_role(request))
        text = connection_strings.render(endpoint, as_, reveal)
        if reveal and endpoint.password is not None:
            logger.info("the password of pool %s (%s) was shown to %s", pool.pk, pool, request.user)
        return Response({"as": as_, "text": text})
