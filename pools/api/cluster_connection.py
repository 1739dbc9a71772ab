"""The connection strings of a cluster: its primary or a standby, any database, any role that the panel knows."""

import logging
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from core.accounts.permissions import reveals
from core.audit.acts import record_reveal
from pools import connection_strings
from pools.api.pool_serializers import ConnectionSerializer
from pools.api.pools import FORMAT, REVEAL
from pools.clusters import endpoints
from pools.clusters.endpoints import Endpoint
from pools.models import Cluster, NodeRole

logger = logging.getLogger(__name__)

DATABASE = OpenApiParameter("database", description=_("Default: the maintenance database"))
USER = OpenApiParameter("user", description=_("The role that logs in; default: the panel's own login"))
NODE = OpenApiParameter("node", enum=[one.value for one in NodeRole], description=_("Default: the primary"))


class _AskedSerializer(serializers.Serializer[Any]):
    database = serializers.CharField(max_length=63, default="")
    user = serializers.CharField(max_length=63, default="")
    node = serializers.ChoiceField(NodeRole.choices, default=NodeRole.PRIMARY)


class ConnectionActions:
    """`connection/`: the addresses of a cluster's nodes as connection strings, and its list of CA files."""

    get_object: Any

    @extend_schema(parameters=[FORMAT, REVEAL, DATABASE, USER, NODE], responses=ConnectionSerializer, filters=False)
    @action(detail=True)
    def connection(self, request: Request, pk: str) -> Response:
        """Return the text that a client needs to log in past any pool, in its syntax; 409 where there is no standby."""
        serializer = _AskedSerializer(data=request.query_params)
        serializer.is_valid(raise_exception=True)
        cluster, as_ = self.get_object(), request.query_params.get("as", "uri")
        reveal = reveals(request)
        endpoint = _endpoint(cluster, **serializer.validated_data)
        text = connection_strings.render(endpoint, as_, reveal)
        if reveal and endpoint.password is not None:
            logger.info("a password of cluster %s (%s) was shown to %s", cluster.pk, cluster, request.user)
            record_reveal(cluster, as_)
        return Response({"as": as_, "text": text})


def _endpoint(cluster: Cluster, database: str, user: str, node: str) -> Endpoint:
    found = endpoints.of_cluster(cluster, database or None, role=NodeRole(node))
    if user in ("", cluster.admin_user):
        return found
    return replace(found, user=user, password=cluster.password_of(user) or None)
