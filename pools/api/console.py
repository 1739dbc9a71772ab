"""The REST API of the console commands on a pool or an entry."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from pools.console import client_end, commands
from pools.console.commands import DEADLINE_S, HOLD_S, LONGEST_DEADLINE_S, LONGEST_HOLD_S, Outcome, Target
from pools.models import Entry


class PauseSerializer(KnownFields):
    """The seconds to wait for running transactions, and those that the pause lasts."""

    deadline_s = serializers.IntegerField(
        default=DEADLINE_S, min_value=1, max_value=LONGEST_DEADLINE_S, help_text=_("Seconds to wait; then 409")
    )
    hold_s = serializers.IntegerField(
        default=HOLD_S, min_value=1, max_value=LONGEST_HOLD_S, help_text=_("Seconds until it is resumed automatically")
    )

    example: dict[str, object] = {"deadline_s": 10, "hold_s": 300}


class KillSerializer(KnownFields):
    """The name of the pool or entry as a confirmation, and how long new clients wait afterwards."""

    confirm = serializers.CharField(trim_whitespace=False, help_text=_("Its name"))
    hold_s = serializers.IntegerField(
        default=0, min_value=0, max_value=LONGEST_HOLD_S, help_text=_("Seconds until it accepts clients again")
    )

    example: dict[str, object] = {"confirm": "orders", "hold_s": 30}


class OutcomeSerializer(serializers.Serializer[Outcome]):
    """The condition after the command."""

    paused = serializers.BooleanField(source="condition.paused")
    disabled = serializers.BooleanField(source="condition.disabled")
    paused_until = serializers.DateTimeField(allow_null=True, help_text=_("When it is resumed automatically"))
    detail = serializers.CharField()

    example: dict[str, object] = {
        "paused_until": None,
        "detail": "Pool orders accepts new clients.",
    }


class ClientSerializer(KnownFields):
    """A client as `waiting/` shows it: its id and connect_time in SHOW CLIENTS."""

    number = serializers.RegexField(r"^[0-9]{1,20}$")
    connected_at = serializers.CharField(help_text=_("Exactly as shown"))

    example: dict[str, object] = {"number": "4711", "connected_at": "2026-03-05 15:58:03 UTC"}


class KilledClientSerializer(serializers.Serializer[dict[str, str]]):
    """What became of the client, read back from the console."""

    detail = serializers.CharField()

    example: dict[str, object] = {"detail": "Client 4711 is disconnected from pool orders."}


VERBS = ("pause", "resume", "kill", "reconnect", "disable", "enable", "kill_client")


class ConsoleVerbs(GenericViewSet[Any]):
    """Console commands as actions of a pool or an entry; 409 with the console's message if it refuses."""

    destructive = frozenset({"kill", "disable", "kill_client"})

    @extend_schema(request=PauseSerializer, responses=OutcomeSerializer)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, pk: str) -> Response:
        """Pause it; 409 with the `blockers` if their transactions do not end within `deadline_s`."""
        pause = _validated(PauseSerializer, request)
        return self._done(partial(commands.pause, **pause))

    @extend_schema(request=None, responses=OutcomeSerializer)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        """Resume the pool, whoever paused it."""
        return self._done(commands.resume)

    @extend_schema(request=KillSerializer, responses=OutcomeSerializer)
    @action(detail=True, methods=["post"])
    def kill(self, request: Request, pk: str) -> Response:
        """Drop all its clients and server connections at once; `confirm` is its name."""
        return self._done(partial(commands.kill, **_validated(KillSerializer, request)))

    @extend_schema(request=None, responses=OutcomeSerializer)
    @action(detail=True, methods=["post"])
    def reconnect(self, request: Request, pk: str) -> Response:
        """Replace each server connection as soon as its client releases it."""
        return self._done(commands.reconnect)

    @extend_schema(request=None, responses=OutcomeSerializer)
    @action(detail=True, methods=["post"])
    def disable(self, request: Request, pk: str) -> Response:
        """Refuse new clients; connected ones stay."""
        return self._done(commands.disable)

    @extend_schema(request=None, responses=OutcomeSerializer)
    @action(detail=True, methods=["post"])
    def enable(self, request: Request, pk: str) -> Response:
        """Accept new clients again."""
        return self._done(commands.enable)

    @extend_schema(request=ClientSerializer, responses=KilledClientSerializer)
    @action(detail=True, methods=["post"], url_path="kill-client")
    def kill_client(self, request: Request, pk: str) -> Response:
        """Disconnect one client with its server connection (PgBouncer 1.24 and later); 404 once it is another."""
        client = _validated(ClientSerializer, request)
        detail = client_end.kill_client(self._target(), **client, author=person(self.request.user))
        return Response({"detail": detail})

    def _done(self, command: Callable[..., Outcome]) -> Response:
        outcome = command(self._target(), author=person(self.request.user))
        return Response(OutcomeSerializer(outcome).data)

    def _target(self) -> Target:
        target: Target = self.get_object()
        if isinstance(target, Entry):  # one that the panel manages is paused and resumed as its pool
            return target.pool or target
        return target


def _validated(serializer: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    asked = serializer(data=request.data)
    asked.is_valid(raise_exception=True)
    values: dict[str, Any] = asked.validated_data
    return values
