"""The REST API of pools."""

import logging
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ModelViewSet

from core.accounts.access import allow
from core.accounts.permissions import person, reveals
from core.audit.acts import record_reveal
from core.lib.wait_param import WAIT
from core.rest.waits import Waits
from pools import connection_strings
from pools.api.applications import ApplicationActions
from pools.api.client_advice import ModeAdvice
from pools.api.console import VERBS, ConsoleVerbs
from pools.api.filters import PoolFilter
from pools.api.pool_serializers import ConnectionSerializer, PoolSerializer
from pools.api.sql_rights import sql_right
from pools.api.versions import expected_version
from pools.api.waiting import WaitingAction
from pools.clusters import endpoints
from pools.errors import IllegalTransition, NotThere
from pools.inventory import pools, settlement
from pools.models import Pool
from pools.models.pools import PoolQuerySet
from pools.monitoring import health

logger = logging.getLogger(__name__)

FORMAT = OpenApiParameter("as", enum=list(connection_strings.FORMATS), default="uri", description=_("For which client"))
REVEAL = OpenApiParameter("reveal", bool, default=False, description=_("Include the password; needs the scope `admin`"))
ROLE = OpenApiParameter(
    "role", description=_("For a pool of the inbound user: the role of the text; default: YOUR_ROLE")
)

# The columns of lists: all of each pool, and of its pooler those of its address and of what its pools may open.
OF_POOL = [column.name for column in Pool._meta.concrete_fields]
OF_ITS_ADDRESS = ("host", "port", "client_host", "client_port", "version")
OF_ITS_CONNECTIONS = ("kind", "settings", "facts", "config_file", "processes", "desired_processes")
OF_POOLER = [f"pooler__{name}" for name in (*OF_ITS_ADDRESS, *OF_ITS_CONNECTIONS)]


def asked_role(request: Request) -> str:
    """Return the role of the text. Raises `ValidationError` for an impossible name."""
    field = serializers.CharField(max_length=63, allow_blank=True)
    try:
        role: str = field.run_validation(request.query_params.get("role", ""))
    except serializers.ValidationError as error:
        raise serializers.ValidationError({"role": error.detail}) from None
    return role


@extend_schema_view(
    create=extend_schema(parameters=[WAIT]),
    update=extend_schema(parameters=[WAIT]),
    partial_update=extend_schema(parameters=[WAIT]),
)
class PoolViewSet(Waits[Pool], ConsoleVerbs, ModeAdvice, WaitingAction, ApplicationActions, ModelViewSet[Pool]):
    """Pools; a write is saved with the `state` pending and applied by a worker."""

    queryset = Pool.objects.wanted().select_related("pooler", "cluster")
    serializer_class = PoolSerializer
    lookup_value_converter = "uuid"
    operations = {
        "list": "pool.view",
        "retrieve": "pool.view",
        "create": "pool.create",
        "update": "pool.change",
        "partial_update": "pool.change",
        "destroy": "pool.remove",
        "connection": "pool.view",
        "reveal": "pool.reveal",
        "clients": "pool.view",
        "waiting": "pool.view",
        "apps": "pool.view",
        "statements": "pool.view",
        "logins": "pool.logins",
        "mode_check": "pool.check",
        **dict.fromkeys(VERBS, "pool.console"),
    }
    filterset_class = PoolFilter
    search_fields = ["name", "database", "user", "pooler__name", "cluster__name"]
    ordering_fields = ["name", "size", "state", "created_at", "updated_at"]

    def get_queryset(self) -> PoolQuerySet:
        """Leave out of lists what they do not show of each pool's pooler and cluster."""
        pools: Any = super().get_queryset()
        found: PoolQuerySet = pools
        if self.action != "list":
            return found
        return found.select_related(None).select_related("pooler").only(*OF_POOL, *OF_POOLER)

    def paginate_queryset(self, queryset: Any) -> Any:  # noqa: ANN401 (as in DRF)
        """Read the health of the pools of a page at once."""
        page = super().paginate_queryset(queryset)
        found = health.of_each(page or ())
        for pool in page or ():
            pool.listed_health = found[pool.pk]
        return page

    @extend_schema(parameters=[WAIT])
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return a pool; with `wait`, once its `state` is no longer pending."""
        with self.may_wait():
            return Response(self.get_serializer(self._until_settled(self.get_object())).data)

    def perform_create(self, serializer: serializers.BaseSerializer[Pool]) -> None:
        """Create a pool: validated and saved as pending, then applied by a worker."""
        with self.may_wait():
            values = serializer.validated_data
            allow(self.request, values["cluster"], values["pooler"], values.get("through"))
            pool = pools.create(values, person(self.request.user), sql_right(self.request))
            serializer.instance = self._until_settled(pool)

    def perform_update(self, serializer: serializers.BaseSerializer[Pool]) -> None:
        """Change a pool in place, unless it was edited since `version`."""
        values = serializer.validated_data
        allow(self.request, values.get("cluster"), values.get("pooler"), values.get("through"))
        version = expected_version(self.request, values)
        author, right = person(self.request.user), sql_right(self.request)
        with self.may_wait():
            changed = pools.change(self.get_object(), values, version, author, right)
            serializer.instance = self._until_settled(changed)

    def perform_destroy(self, instance: Pool) -> None:
        """Remove a pool; it disappears here at once, and from the pooler once a worker has verified that."""
        pools.remove(instance, person(self.request.user))

    def _until_settled(self, pool: Pool) -> Pool:
        """Return the pool, whose answer waits as long as the caller asks for; 404 where it is removed meanwhile."""

        def answer() -> object:
            if (found := settlement.found_pool(pool.pk)) is None:
                raise NotThere(gettext("pool %(pool)s was removed in the meantime") % {"pool": pool})
            return self.get_serializer(found).data

        self.until(pool, lambda: settlement.is_pool_settled(pool.pk), answer)
        return pool

    @extend_schema(parameters=[FORMAT, REVEAL, ROLE], responses=ConnectionSerializer, filters=False)
    @action(detail=True)
    def connection(self, request: Request, pk: str) -> Response:
        """Return the text that a client needs to log in, in its syntax."""
        pool, as_ = self.get_object(), request.query_params.get("as", "uri")
        if pool.was_never_live:
            text = gettext("pool %(pool)s was refused before it was ever live: %(reason)s")
            raise IllegalTransition(text % {"pool": pool, "reason": pool.state_reason})
        reveal = reveals(request)
        endpoint = endpoints.of_pool(pool, asked_role(request))
        text = connection_strings.render(endpoint, as_, reveal)
        if reveal and endpoint.password is not None:
            logger.info("the password of pool %s (%s) was shown to %s", pool.pk, pool, request.user)
            record_reveal(pool, as_)
        return Response({"as": as_, "text": text})
