"""The REST API of the thresholds at which events open and close."""

from dataclasses import replace
from typing import Any, TypedDict

from django.http import Http404
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.lib.known_fields import KnownFields
from pools.models import Severity, Threshold
from pools.monitoring import thresholds
from pools.monitoring.hysteresis import Rule
from pools.monitoring.thresholds import Bound

MOST = 1e12  # beyond any count or time; keeps out what JSON has no number for
NO_CHOICE = _("this event has no thresholds: change `enabled` or `for_s`")


class ChangedRule(TypedDict, total=False):
    """The given ones of the fields of `Rule`."""

    opens_at: float
    closes_at: float
    for_s: int


class ChangedBound(TypedDict, total=False):
    """The validated input of `BoundSerializer`."""

    enabled: bool
    rule: ChangedRule


class RuleSerializer(serializers.Serializer[Rule]):
    """The default thresholds."""

    opens_at = serializers.FloatField()
    closes_at = serializers.FloatField()
    for_s = serializers.IntegerField()

    example: dict[str, object] = {"opens_at": 5.0, "closes_at": 1.0, "for_s": 30}


class BoundSerializer(KnownFields):
    """One kind of event: it opens when `measures` was at least `opens_at` for `for_s`, and closes below `closes_at`.

    Where `falls` is true, it opens at `opens_at` or less, and closes above `closes_at`.
    """

    kind = serializers.CharField(source="watch.kind", read_only=True, help_text=_("As events have it"))
    title = serializers.CharField(source="watch.kind.label", read_only=True)
    severity = serializers.ChoiceField(Severity.choices, source="watch.severity", read_only=True)
    measures = serializers.CharField(source="watch.measures", read_only=True)
    unit = serializers.CharField(source="watch.unit", read_only=True)
    has_bounds = serializers.BooleanField(
        source="watch.counts", read_only=True, help_text=_("Whether opens_at and closes_at can be changed")
    )
    falls = serializers.BooleanField(
        source="watch.rule.falls", read_only=True, help_text=_("Whether it opens once the value has fallen so far")
    )
    enabled = serializers.BooleanField(help_text=_("Whether it is watched"))
    opens_at = serializers.FloatField(source="rule.opens_at", max_value=MOST)
    closes_at = serializers.FloatField(source="rule.closes_at", max_value=MOST)
    for_s = serializers.IntegerField(source="rule.for_s", min_value=0, max_value=thresholds.MOST_S)
    usual = RuleSerializer(source="watch.rule", read_only=True)

    example: dict[str, object] = {
        "kind": "waiting",
        "title": "clients waiting for a connection",
        "measures": "clients of a pool that wait",
        "unit": "clients",
        "has_bounds": True,
        "falls": False,
        "enabled": True,
        "opens_at": 10.0,
        "closes_at": 2.0,
        "for_s": 60,
    }

    def validate(self, given: ChangedBound) -> ChangedBound:
        """Refuse thresholds of an event that has none."""
        chosen = {name for name in given.get("rule", {}) if name != "for_s"}
        if chosen and isinstance(self.instance, Bound) and not self.instance.watch.counts:
            raise ValidationError({name: [str(NO_CHOICE)] for name in sorted(chosen)})
        return given


class ThresholdViewSet(GenericViewSet[Threshold]):
    """The thresholds of every kind of event; unchanged ones are the panel's defaults."""

    serializer_class = BoundSerializer
    lookup_field = "kind"
    filter_backends = ()
    operations = dict.fromkeys(("list", "retrieve"), "threshold.view") | {"partial_update": "threshold.change"}

    @extend_schema(responses=BoundSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List the threshold in force for each event kind: the stored one, or the default."""
        page: Any = self.paginate_queryset(list(thresholds.bounds().values()))
        return self.get_paginated_response(BoundSerializer(page, many=True).data)

    def retrieve(self, request: Request, kind: str) -> Response:
        """Return the threshold in force for one event kind: the stored one, or the default."""
        return Response(BoundSerializer(_bound(kind)).data)

    def partial_update(self, request: Request, kind: str) -> Response:
        """Change the given values, from the next poll on; 400 for thresholds that could never open or close."""
        bound = _bound(kind)
        serializer = BoundSerializer(bound, data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        thresholds.change({bound.watch.kind: _changed(bound, serializer.validated_data)})
        return Response(BoundSerializer(_bound(kind)).data)


def _bound(kind: str) -> Bound:
    found = {str(one): bound for one, bound in thresholds.bounds().items()}
    if kind not in found:
        text = gettext("%(kind)s is not one of %(choices)s")
        raise Http404(text % {"kind": kind, "choices": ", ".join(found)})
    return found[kind]


def _changed(bound: Bound, asked: ChangedBound) -> tuple[Rule, bool]:
    return replace(bound.rule, **asked.get("rule", {})), asked.get("enabled", bound.enabled)
