"""The REST API of advice on a pool's mode: what clients must change, and what it would break."""

from typing import TypedDict

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from pools.advice import client_advice, client_limits, login_cost, mode_linter
from pools.advice.client_advice import Situation
from pools.advice.session_features import Finding
from pools.models import Mode, Pool

MODE = OpenApiParameter("as", enum=Mode.values, description=_("Judge another mode than the pool's own"))


class HabitSerializer(serializers.Serializer[Finding]):
    """A session feature that the mode breaks."""

    habit = serializers.CharField(source="habit.name")
    happens = serializers.CharField(source="habit.happens")
    instead = serializers.CharField(source="habit.instead")
    statements = serializers.IntegerField()
    calls = serializers.IntegerField(help_text=_("0 where they are not counted"))
    sample = serializers.CharField(help_text=_("One such statement without its literals"))
    sources = serializers.ListField(child=serializers.CharField())

    example: dict[str, object] = {
        "habit": "SET",
        "happens": "the setting stays with a server connection: later transactions of this client miss it",
        "instead": "use SET LOCAL inside the transaction, or ALTER ROLE … SET for all sessions of the role",
        "calls": 420,
        "sample": "SET search_path = $1",
        "sources": ["pg_stat_statements"],
    }


class ModeReportSerializer(serializers.Serializer[mode_linter.Report]):
    """The findings, the checks made, and those that could not be made."""

    findings = HabitSerializer(many=True)
    looked = serializers.ListField(source="examined", child=serializers.CharField())
    limits = serializers.ListField(child=serializers.CharField())

    example: dict[str, object] = {
        "looked": ["pg_stat_statements of database orders"],
        "limits": ["Statements that never ran are not seen."],
    }


class AdviceSerializer(serializers.Serializer[client_advice.Advice]):
    """The change that one client needs; `needed` is false if it works unchanged."""

    client = serializers.CharField()
    text = serializers.CharField()
    snippet = serializers.CharField(allow_blank=True)
    needed = serializers.BooleanField()

    example: dict[str, object] = {
        "client": "psycopg 3",
        "text": "prepared statements survive: nothing has to change",
        "snippet": "",
    }


class ClientsAdvice(TypedDict):
    """Advice for any client, and for each known one."""

    keeps_prepared: bool
    general: list[str]
    clients: list[client_advice.Advice]


def advice_of(now: Situation) -> ClientsAdvice:
    """Return one piece of advice per client library for this situation."""
    return {
        "keeps_prepared": now.keeps_prepared,
        "general": client_advice.general(now),
        "clients": client_advice.advise(now),
    }


class ClientsSerializer(serializers.Serializer[ClientsAdvice]):
    """Advice for any client, and for each known one."""

    keeps_prepared = serializers.BooleanField(help_text=_("Whether statements prepared by the protocol survive"))
    general = serializers.ListField(child=serializers.CharField())
    clients = AdviceSerializer(many=True)

    example: dict[str, object] = {
        "keeps_prepared": True,
        "general": ["Keep transactions short: a server connection is held until the transaction ends."],
    }


class LoginSerializer(serializers.Serializer[login_cost.Login]):
    """The cost of one login route in milliseconds."""

    way = serializers.CharField(source="route")
    total_ms = serializers.FloatField(help_text=_("The median of some logins, on the clock"))
    client_cpu_ms = serializers.FloatField(help_text=_("Processor time of the panel's own process"))
    pooler_cpu_ms = serializers.FloatField(allow_null=True, help_text=_("Null where its process can't be seen here"))
    tls_ms = serializers.FloatField(allow_null=True, help_text=_("A handshake by itself; null without TLS"))
    rest_ms = serializers.FloatField(help_text=_("The server and the network"))

    example: dict[str, object] = {
        "way": "through the pool",
        "total_ms": 3.1,
        "client_cpu_ms": 1.2,
        "pooler_cpu_ms": 0.4,
        "tls_ms": None,
        "rest_ms": 1.5,
    }


class MeasuredLogins(TypedDict):
    """The cost of logins by each way, and what lowers it."""

    client_auth: str
    logins: list[login_cost.Login]
    remedies: list[str]


class LoginsSerializer(serializers.Serializer[MeasuredLogins]):
    """The measured cost of logins."""

    client_auth = serializers.CharField(
        allow_blank=True, help_text=_("How the pooler authenticates clients, by its live files")
    )
    logins = LoginSerializer(many=True)
    remedies = serializers.ListField(child=serializers.CharField())

    example: dict[str, object] = {
        "client_auth": "scram-sha-256",
        "remedies": ["Keep connections open in the application: each login costs 3.1 ms."],
    }


class ModeAdvice(GenericViewSet[Pool]):
    """Actions of a pool on its mode and its clients' logins."""

    @extend_schema(request=None, responses=LoginsSerializer, filters=False)
    @action(detail=True, methods=["post"])
    def logins(self, request: Request, pk: str) -> Response:
        """Log in several times through the pool and to its cluster, and report where the time went."""
        pool = self.get_object()
        found = login_cost.measure(pool)
        measured: MeasuredLogins = {
            "client_auth": login_cost.client_auth_note(pool),
            "logins": found,
            "remedies": login_cost.remedies_of(pool.pooler, found[0]),
        }
        return Response(LoginsSerializer(measured).data)

    @extend_schema(parameters=[MODE], responses=ModeReportSerializer, filters=False)
    @action(detail=True, url_path="mode-check")
    def mode_check(self, request: Request, pk: str) -> Response:
        """Report what the mode would break in the pool's database, from its statements; needs the scope `apply`."""
        pool, mode = self.get_object(), request.query_params.get("as")
        if mode is not None and mode not in Mode.values:
            text = gettext("%(mode)r is not a pool mode: choose one of %(choices)s")
            raise ValidationError({"as": [text % {"mode": mode, "choices": ", ".join(Mode.values)}]})
        pool.mode = mode or pool.mode
        return Response(ModeReportSerializer(mode_linter.lint(pool)).data)

    @extend_schema(responses=ClientsSerializer, filters=False)
    @action(detail=True)
    def clients(self, request: Request, pk: str) -> Response:
        """Report what clients have to change for the pool's mode and its pooler's release."""
        pool = self.get_object()
        now = Situation(pool.mode, client_limits.of(pool.pooler))
        return Response(ClientsSerializer(advice_of(now)).data)
