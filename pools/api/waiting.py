"""The REST API of why the clients of a pool wait."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.access import Access
from core.accounts.models import Scope
from core.accounts.permissions import holds
from pools.api.example_values import CLUSTER
from pools.diagnosis import causes, shared
from pools.diagnosis.blocking_tree import Branch
from pools.diagnosis.diagnosis import Diagnosis, Holder
from pools.diagnosis.sessions import Session
from pools.models import Pooler
from pools.poolers.pool_queue import ClientOfServer, CoreUse, Limit, PoolQueue, QueuedClient


class CauseSerializer(serializers.Serializer[Any]):
    """A cause that holds, as a sentence, with what to do."""

    cause = serializers.ChoiceField(choices=[(name, name) for name in causes.NAMES])
    sentence = serializers.CharField()
    remedy = serializers.CharField(allow_blank=True)

    example: dict[str, object] = {
        "cause": "client_limit",
        "sentence": "max_client_conn is reached: 100 clients are connected of 100, and further ones are refused.",
        "remedy": "Close clients that nobody uses, or raise max_client_conn.",
    }


class QueuedClientSerializer(serializers.Serializer[QueuedClient]):
    """A client that waits."""

    user = serializers.CharField()
    application = serializers.CharField(allow_blank=True)
    address = serializers.CharField(allow_blank=True, help_text=_("Empty over a Unix socket"))
    waited_s = serializers.FloatField()
    number = serializers.CharField(allow_blank=True, help_text=_("For `kill-client`; empty before PgBouncer 1.24"))
    connected_at = serializers.CharField(allow_blank=True)

    example: dict[str, object] = {
        "user": "orders_app",
        "application": "checkout",
        "address": "10.20.0.14:51044",
        "waited_s": 3.2,
        "number": "4712",
        "connected_at": "2026-03-05 15:59:40 UTC",
    }


class LimitSerializer(serializers.Serializer[Limit]):
    """A limit by the name of its setting."""

    setting = serializers.CharField()
    most = serializers.IntegerField(help_text=_("0: no limit"))
    used = serializers.IntegerField()

    example: dict[str, object] = {"setting": "pool_size", "most": 10, "used": 10}


class CoreUseSerializer(serializers.Serializer[CoreUse]):
    """The shares of one core that the pooler's process used, and waited for."""

    running = serializers.FloatField()
    waiting = serializers.FloatField()

    example: dict[str, object] = {"running": 0.12, "waiting": 0.01}


class QueueSerializer(serializers.Serializer[PoolQueue]):
    """The queue of the pool; of its clients those that have waited longest."""

    waiting = serializers.IntegerField()
    counts_waiting = serializers.BooleanField(
        help_text=_("False where the pooler does not count all clients that wait, and not how long")
    )
    longest_s = serializers.FloatField()
    mode = serializers.CharField(allow_blank=True)
    clients = QueuedClientSerializer(many=True)
    server_limits = LimitSerializer(many=True)
    client_limits = LimitSerializer(many=True)
    core = CoreUseSerializer(allow_null=True)
    paused = serializers.BooleanField()

    example: dict[str, object] = {
        "waiting": 12,
        "counts_waiting": True,
        "longest_s": 3.2,
        "mode": "transaction",
        "paused": False,
    }


class SessionSerializer(serializers.Serializer[Session]):
    """A session of the server; `pid` and `backend_start` identify it."""

    pid = serializers.IntegerField()
    backend_start = serializers.DateTimeField(allow_null=True)
    database = serializers.CharField(allow_null=True)
    role = serializers.CharField(allow_null=True)
    application = serializers.CharField(allow_blank=True)
    client = serializers.CharField(allow_blank=True)
    state = serializers.CharField(allow_blank=True, help_text=_("Empty where the panel's role may not see it"))
    wait_event_type = serializers.CharField(allow_blank=True)
    wait_event = serializers.CharField(allow_blank=True)
    transaction_start = serializers.DateTimeField(allow_null=True)
    statement_start = serializers.DateTimeField(allow_null=True)
    transaction_s = serializers.FloatField(allow_null=True)
    statement_s = serializers.FloatField(allow_null=True)
    in_state_s = serializers.FloatField(allow_null=True)
    query = serializers.CharField(allow_blank=True, help_text=_("With `$n` for literals, as in pg_stat_statements"))
    text = serializers.SerializerMethodField()
    blocked_by = serializers.ListField(
        child=serializers.IntegerField(), help_text=_("Pids that hold what it waits for; 0: a prepared transaction")
    )

    example: dict[str, object] = {
        "pid": 41772,
        "backend_start": "2026-03-05T15:58:12.417093Z",
        "database": "orders",
        "role": "orders_app",
        "application": "checkout",
        "client": "10.20.0.14",
        "state": "active",
        "wait_event_type": "Lock",
        "wait_event": "transactionid",
        "transaction_start": "2026-03-05T16:11:48.020714Z",
        "statement_start": "2026-03-05T16:11:48.020714Z",
        "transaction_s": 12.4,
        "statement_s": 12.4,
        "in_state_s": 12.4,
        "query": "UPDATE orders SET state = $1 WHERE id = $2",
        "text": None,
        "blocked_by": [41700],
    }

    def get_text(self, session: Session) -> str | None:
        """Return the statement with its literals to the scope `admin`, else null."""
        return session.text if self.context["is_admin"] else None


class ServerClientSerializer(serializers.Serializer[ClientOfServer]):
    """The client that has a server connection."""

    user = serializers.CharField()
    application = serializers.CharField(allow_blank=True)
    address = serializers.CharField(allow_blank=True)
    number = serializers.CharField(allow_blank=True, help_text=_("For `kill-client`; empty before PgBouncer 1.24"))
    connected_at = serializers.CharField(allow_blank=True)

    example: dict[str, object] = {
        "user": "orders_app",
        "application": "checkout",
        "address": "10.20.0.14:51040",
        "number": "4711",
        "connected_at": "2026-03-05 15:58:03 UTC",
    }


class HolderSerializer(serializers.Serializer[Holder]):
    """A server connection of the pool: its client, and its session on the server where that is known."""

    pid = serializers.IntegerField(source="server.pid")
    state = serializers.CharField(source="server.state", help_text=_("As in SHOW SERVERS"))
    client = ServerClientSerializer(source="server.client", allow_null=True)
    session = SessionSerializer(allow_null=True)

    example: dict[str, object] = {"pid": 41772, "state": "active"}


class BranchSerializer(serializers.Serializer[Branch]):
    """A session in the tree of who blocks whom: one of depth 1 waits for that of depth 0 above it."""

    depth = serializers.IntegerField()
    pid = serializers.IntegerField()
    pool = serializers.CharField(allow_blank=True, help_text=_("The pool of this pooler that has it"))
    session = SessionSerializer(allow_null=True)

    example: dict[str, object] = {"depth": 0, "pid": 41772, "pool": "orders"}


class DiagnosisSerializer(serializers.Serializer[Diagnosis]):
    """Why the clients of a pool wait, at one moment."""

    pool = serializers.CharField(help_text=_("Its name on the pooler"))
    taken_at = serializers.DateTimeField()
    took_s = serializers.FloatField()
    cluster = serializers.UUIDField(
        source="place.cluster.pk", allow_null=True, help_text=_("Whose `terminate-session` ends its sessions")
    )
    node = serializers.CharField(source="place.key", allow_null=True, help_text=_("Its server there"))
    cause = serializers.CharField(allow_blank=True, help_text=_("Empty where none was found, or nobody waits"))
    sentence = serializers.CharField(source="finding.sentence")
    remedy = serializers.CharField(source="finding.remedy", allow_blank=True)
    pids = serializers.ListField(
        source="finding.pids", child=serializers.IntegerField(), help_text=_("Sessions whose end would help")
    )
    also = serializers.SerializerMethodField()
    notes = serializers.ListField(child=serializers.CharField(), help_text=_("What could not be asked"))
    queue = QueueSerializer(allow_null=True)
    holders = HolderSerializer(many=True)
    tree = BranchSerializer(many=True)

    example: dict[str, object] = {
        "pool": "orders",
        "taken_at": "2026-03-05T16:12:00Z",
        "took_s": 0.71,
        "cluster": CLUSTER,
        "node": "own",
        "cause": "lock",
        "sentence": "Lock: 2 server connections of pool orders wait for process 41772 (role orders_app, application "
        "batch). Its transaction has been open for 12 s, and nothing runs in it now.",
        "remedy": "Let the holder of the lock commit or roll back, or terminate its session.",
        "pids": [41772],
        "notes": [],
    }

    @extend_schema_field(CauseSerializer(many=True))
    def get_also(self, diagnosis: Diagnosis) -> Sequence[dict[str, str]]:
        """List the further causes that hold."""
        return [{"cause": name, "sentence": found.sentence, "remedy": found.remedy} for name, found in diagnosis.also]


def _context(request: Request) -> dict[str, object]:
    return {"is_admin": holds(request.user, request.auth, Scope.ADMIN)}


class WaitingAction(GenericViewSet[Any]):
    """Action of a pool or an entry."""

    @extend_schema(responses=DiagnosisSerializer, filters=False)
    @action(detail=True)
    def waiting(self, request: Request, pk: str) -> Response:
        """Ask the pooler and the server, live, why clients wait: the queue, who holds the servers, and the cause."""
        found = shared.read_by(Access.of(request), self.get_object())
        return Response(DiagnosisSerializer(found, context=_context(request)).data)


class PoolerWaitingAction(GenericViewSet[Pooler]):
    """Action of a pooler."""

    @extend_schema(responses=DiagnosisSerializer(many=True), filters=False)
    @action(detail=True, pagination_class=None)
    def waiting(self, request: Request, pk: str) -> Response:
        """Ask why clients wait, of the three pools whose clients have waited longest; 502 if the console is silent."""
        found: Any = [diagnosis for _target, diagnosis in shared.of_pooler(Access.of(request), self.get_object())]
        return Response(DiagnosisSerializer(found, many=True, context=_context(request)).data)
