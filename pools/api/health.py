"""The health of pools, entries and poolers as JSON."""

from datetime import UTC, datetime

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from pools.monitoring.health import Health, KnownHealth

HELP = _("Whether clients wait, by the newest sample")


class HealthSerializer(serializers.Serializer[KnownHealth]):
    """Whether clients wait."""

    state = serializers.ChoiceField(
        choices=Health.choices, help_text=_("`saturated`: clients wait while all server connections are in use")
    )
    at = serializers.DateTimeField(allow_null=True, help_text=_("Of the sample; null where it is unknown"))

    example: dict[str, object] = {"state": "saturated", "at": "2026-03-05T16:12:00Z"}


def as_json(found: KnownHealth) -> dict[str, object]:
    """Return a health and the time of its sample, as `HealthSerializer` describes it."""
    at = None if found.at is None else datetime.fromtimestamp(found.at, UTC).isoformat().replace("+00:00", "Z")
    return {"state": found.health.value, "at": at}
