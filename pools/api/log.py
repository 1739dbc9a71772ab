"""The REST API of a pooler's log."""

from datetime import UTC, datetime

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from pools.diagnosis import log_reasons
from pools.diagnosis.log_reasons import Filters, Reason
from pools.models import Pooler
from pools.monitoring import refused_logins
from pools.monitoring.refused_logins import Refusals
from pools.poolers.pooler_log import About, LogLine

NAMES = {"level": "level", "q": "words", "database": "database", "user": "user", "reason": "reason"}
REFUSED = "refused"  # whether only refused logins are listed
LINES_AT_MOST = 1000


class LogReasonSerializer(serializers.Serializer[Reason]):
    """A known message, how often it stands in the end of the log, and what it means."""

    reason = serializers.CharField(source="known.reason")
    about = serializers.ChoiceField([(one.value, one.value) for one in About], source="known.about")
    detail = serializers.CharField(help_text=_("What the message names, such as the startup parameter"))
    count = serializers.IntegerField()
    last_at = serializers.CharField(help_text=_("As the log has it"))
    meaning = serializers.CharField(source="known.meaning")
    setting = serializers.CharField(source="known.setting", help_text=_("The setting that mends it; empty for none"))

    example: dict[str, object] = {
        "reason": "unsupported_startup_parameter",
        "about": "login",
        "detail": "extra_float_digits",
        "count": 12,
        "last_at": "2026-03-05 16:12:07.123 UTC",
        "meaning": "The client's driver sends a parameter at the login that PgBouncer can't keep for it.",
        "setting": "ignore_startup_parameters",
    }


class LogLineSerializer(serializers.Serializer[LogLine]):
    """A line; secrets in its text are dots."""

    at = serializers.CharField()
    pid = serializers.IntegerField()
    level = serializers.CharField()
    database = serializers.CharField()
    user = serializers.CharField()
    address = serializers.CharField()
    text = serializers.CharField()
    reason = serializers.SerializerMethodField()
    sqlstate = serializers.CharField(help_text=_("What was told with it; empty where none is known"))

    example: dict[str, object] = {
        "at": "2026-03-05 16:12:07.123 UTC",
        "pid": 812,
        "level": "WARNING",
        "database": "orders",
        "user": "orders_app",
        "address": "10.20.0.14:51044",
        "text": "pooler error: query_wait_timeout",
        "reason": "query_wait_timeout",
        "sqlstate": "08P01",
    }

    def get_reason(self, line: LogLine) -> str:
        """Return the name of a known message; empty for others."""
        return line.known.reason if line.known else ""


class PoolerLogSerializer(serializers.Serializer[dict[str, object]]):
    """The end of a pooler's log; `reasons` are of all its lines, `lines` of those that the filters let through."""

    paths = serializers.ListField(child=serializers.CharField())
    reasons = LogReasonSerializer(many=True)
    lines = LogLineSerializer(many=True)

    example: dict[str, object] = {"paths": ["/var/log/postgresql/pgbouncer.log"]}


class CountedNameSerializer(serializers.Serializer[dict[str, object]]):
    """A reason, user, database or address, and how many refused logins of a minute have it."""

    name = serializers.CharField()
    count = serializers.IntegerField()

    example: dict[str, object] = {"name": "password_failed", "count": 36}


class RefusedLoginsSerializer(serializers.Serializer[dict[str, object]]):
    """The logins that a pooler refused within a minute, and those that its servers refused to it, by its log."""

    per_minute = serializers.FloatField(allow_null=True, help_text=_("Null where they can't be counted"))
    unknown = serializers.CharField(help_text=_("Why they can't be counted; empty where they are"))
    at = serializers.DateTimeField(allow_null=True, help_text=_("When the log was read last"))
    is_partial = serializers.BooleanField(help_text=_("True if the log grew faster than it was read"))
    reasons = CountedNameSerializer(many=True, help_text=_("As the log's filter `reason` takes them"))
    users = CountedNameSerializer(many=True)
    databases = CountedNameSerializer(many=True)
    addresses = CountedNameSerializer(many=True, help_text=_("Of clients, without their port"))

    example: dict[str, object] = {"per_minute": 36.0, "unknown": "", "at": "2026-03-05T16:12:30Z", "is_partial": False}


def _as_json(found: Refusals) -> dict[str, object]:
    """Return a count as `RefusedLoginsSerializer` describes it."""
    parts = {"reasons": found.reasons, "users": found.users, "databases": found.databases, "addresses": found.addresses}
    named = {part: [{"name": name, "count": times} for name, times in counts] for part, counts in parts.items()}
    return {
        "per_minute": None if found.unknown else found.per_minute,
        "unknown": found.unknown,
        "at": datetime.fromtimestamp(found.at, UTC) if found.at else None,
        "is_partial": found.is_partial,
        **named,
    }


class PoolerLogAction(GenericViewSet[Pooler]):
    """Action of a pooler."""

    @extend_schema(
        responses=PoolerLogSerializer,
        filters=False,
        parameters=[*(OpenApiParameter(name, str) for name in NAMES), OpenApiParameter(REFUSED, bool)],
    )
    @action(detail=True, pagination_class=None)
    def log(self, request: Request, pk: str) -> Response:
        """Read the end of its log, at most 1,000 lines, the newest first; 502 where it can't be read from here."""
        log = log_reasons.read(self.get_object())
        asked = {field: request.query_params.get(name, "") for name, field in NAMES.items()}
        filters = Filters(**asked, refused=request.query_params.get(REFUSED, "").lower() in ("1", "true"))
        found = [line for line in reversed(log.lines) if filters.let_through(line)]
        shown: dict[str, object] = {
            "paths": log.paths,
            "reasons": log_reasons.of_lines(log.lines),
            "lines": found[:LINES_AT_MOST],
        }
        return Response(PoolerLogSerializer(shown).data)

    @extend_schema(responses=RefusedLoginsSerializer, filters=False)
    @action(detail=True, url_path="refused-logins")
    def refused_logins(self, request: Request, pk: str) -> Response:
        """Return the logins refused within the last minute, as they were counted in its log, twice a minute."""
        return Response(RefusedLoginsSerializer(_as_json(refused_logins.of_one(self.get_object()))).data)
