"""The REST API that ends what runs on a cluster's server: a statement, or a session with its transaction."""

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.lib.known_fields import KnownFields
from pools.clusters import topology
from pools.clusters.topology import Place
from pools.diagnosis import ending
from pools.diagnosis.ending import ConfirmedSession, EndedSession
from pools.models import Cluster


class SessionKeySerializer(KnownFields):
    """The process of a session and its start, as `waiting/` shows them, and the server that it is on."""

    pid = serializers.IntegerField(min_value=1)
    backend_start = serializers.DateTimeField(help_text=_("Exactly as shown, with its microseconds"))
    node = serializers.CharField(
        default="",
        allow_blank=True,
        help_text=_("A node's id, or `own`: the cluster's own address; default: the primary"),
    )


class TerminatedSessionSerializer(SessionKeySerializer):
    """A session to terminate, while it is in the transaction that was looked at."""

    transaction_start = serializers.DateTimeField(
        required=False, allow_null=True, help_text=_("409 if it is in another by now; null: in none. Absent: any")
    )

    example: dict[str, object] = {
        "pid": 41700,
        "backend_start": "2026-03-05T15:58:12.417093Z",
        "transaction_start": "2026-03-05T16:11:48.020714Z",
    }


class CanceledStatementSerializer(SessionKeySerializer):
    """A session whose statement to cancel, while it is the one that was looked at."""

    statement_start = serializers.DateTimeField(
        required=False, allow_null=True, help_text=_("409 if another runs by now. Absent: any")
    )

    example: dict[str, object] = {
        "pid": 41772,
        "backend_start": "2026-03-05T15:58:12.417093Z",
        "statement_start": "2026-03-05T16:11:48.020714Z",
    }


class EndedSerializer(serializers.Serializer[EndedSession]):
    """What became of the session, read back from the server."""

    pid = serializers.IntegerField()
    gone = serializers.BooleanField()
    detail = serializers.CharField()

    example: dict[str, object] = {
        "pid": 41700,
        "gone": True,
        "detail": "Process 41700 is gone, and its transaction is rolled back.",
    }


class SessionActions(GenericViewSet[Cluster]):
    """Actions of a cluster on single sessions; 404 once it is gone, 409 where it may not or could not be ended."""

    @extend_schema(request=CanceledStatementSerializer, responses=EndedSerializer)
    @action(detail=True, methods=["post"], url_path="cancel-statement")
    def cancel_statement(self, request: Request, pk: str) -> Response:
        """Cancel the statement that a session runs; its transaction is rolled back, and the session stays."""
        asked = CanceledStatementSerializer(data=request.data)
        return self._ended(asked, "statement_start", ending.cancel)

    @extend_schema(request=TerminatedSessionSerializer, responses=EndedSerializer)
    @action(detail=True, methods=["post"], url_path="terminate-session")
    def terminate_session(self, request: Request, pk: str) -> Response:
        """Terminate a session; its transaction is rolled back, and its client gets an error."""
        asked = TerminatedSessionSerializer(data=request.data)
        return self._ended(asked, "transaction_start", ending.terminate)

    def _ended(
        self, asked: SessionKeySerializer, start: str, end: Callable[[Place, ConfirmedSession], EndedSession]
    ) -> Response:
        cluster = self.get_object()
        asked.is_valid(raise_exception=True)
        values: dict[str, Any] = asked.validated_data
        confirmed = ConfirmedSession(
            values["pid"], values["backend_start"], values.get(start), checks_start=start in values
        )
        return Response(EndedSerializer(end(topology.chosen(cluster, values["node"]), confirmed)).data)
