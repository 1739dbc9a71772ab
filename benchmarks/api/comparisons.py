"""The REST API of comparisons: repeats as arms, each judged against the baseline."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.analysis.arms import Comparison, Outcome, Verdict
from benchmarks.api.example_values import RUN
from benchmarks.models import Run, metrics
from benchmarks.results import comparisons as run_comparisons
from benchmarks.results.export import comparison_tables
from benchmarks.results.export.comparison_tables import ArmRow, ComparedRun
from core.accounts.access import Access

KINDS = ("json", "csv", "html")
OUTCOMES, VERDICTS = [one.value for one in Outcome], [one.value for one in Verdict]


class ComparedRunSerializer(serializers.Serializer[Any]):
    """A run of an arm."""

    id = serializers.UUIDField()
    number = serializers.IntegerField()
    outcome = serializers.ChoiceField(OUTCOMES)
    outcome_words = serializers.CharField(help_text=_("The outcome with its reasons"))
    value = serializers.FloatField(allow_null=True)

    example: ComparedRun = {
        "id": RUN,
        "number": 12,
        "outcome": "succeeded",
        "outcome_words": "succeeded",
        "value": 1261.63,
    }


class ArmSerializer(serializers.Serializer[Any]):
    """The runs of one configuration: same target, program and options but the seed."""

    key = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field of the response, not this serializer's label
    runs = ComparedRunSerializer(many=True)
    n_valid = serializers.IntegerField(help_text=_("Number of valid runs; a verdict needs 3 of each arm"))
    outcome = serializers.ChoiceField(OUTCOMES)
    outcome_words = serializers.CharField()
    median = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    ratio = serializers.FloatField(
        allow_null=True, help_text=_("Ratio to the baseline; the mean over pairs if runs were started in pairs")
    )
    interval = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text=_("Low and high end of the ratio's 95 % interval")
    )
    verdict = serializers.ChoiceField(
        VERDICTS, allow_null=True, help_text=_("Null for the baseline, and if the baseline was refused")
    )
    clients_at_work = serializers.FloatField(
        allow_null=True, help_text=_("tps × latency, if it differs from `clients_asked` by a tenth or more")
    )
    clients_asked = serializers.FloatField(allow_null=True)

    example: ArmRow = {
        "key": "b",
        "label": "pooled, orders",
        "runs": [ComparedRunSerializer.example],
        "n_valid": 3,
        "outcome": "succeeded",
        "outcome_words": "3 of 3 valid",
        "median": 1261.63,
        "low": 1248.2,
        "high": 1270.14,
        "ratio": 2.41,
        "interval": [2.35, 2.47],
        "verdict": "faster",
        "clients_at_work": None,
        "clients_asked": None,
    }


class DifferenceSerializer(serializers.Serializer[Any]):
    """A setting in which the arms differ."""

    name = serializers.CharField()
    values = serializers.ListField(child=serializers.CharField())

    example: dict[str, object] = {"name": "endpoint", "values": ["direct", "pooled"]}


class ComparisonSerializer(serializers.Serializer[Any]):
    """The result of comparing runs."""

    metric = serializers.ChoiceField(metrics.JUDGED)
    baseline = serializers.CharField()
    arms = ArmSerializer(many=True)
    conclusion = serializers.CharField()
    differs_in = DifferenceSerializer(many=True)
    noise = serializers.FloatField(allow_null=True, help_text=_("The standard deviation of repeats, as a share"))

    example: dict[str, object] = {
        "metric": "tps",
        "baseline": "a",
        "conclusion": "Pooled, orders is faster than direct: tps ×2.41 (95 % interval ×2.35 to ×2.47, 3 runs each).",
        "noise": 0.012,
    }


@extend_schema(
    parameters=[
        OpenApiParameter("runs", str, description=_("Ids of runs, separated by commas; or use `group`")),
        OpenApiParameter("group", OpenApiTypes.UUID, description=_("The group of runs that were started together")),
        OpenApiParameter("baseline", str, description=_("Key of the baseline arm; default: the first run's arm")),
        OpenApiParameter("metric", str, enum=list(metrics.JUDGED), description=_("Default: `tps`")),
        OpenApiParameter("as", str, enum=list(KINDS), description=_("Default: `json`")),
    ],
    responses={
        (200, "application/json"): ComparisonSerializer,
        (200, "text/csv"): OpenApiTypes.STR,
        (200, "text/html"): OpenApiTypes.STR,
    },
)
@api_view(["GET"])
def comparisons(request: Request) -> HttpResponse | Response:
    """Compare runs: repeats of one configuration form an arm, and a verdict needs 3 valid runs per arm."""
    query = request.query_params
    kind = _one_of(query.get("as", "json"), KINDS, "as")
    metric = _one_of(query.get("metric", "tps"), metrics.JUDGED, "metric")
    runs = _runs(query, Access.of(request))
    try:
        found = run_comparisons.compare(runs, baseline=query.get("baseline", ""), metric=metric)
    except KeyError as error:
        text = gettext("%(key)r is not an arm of these runs: send a key of arms") % {"key": error.args[0]}
        raise ValidationError({"baseline": [text]}) from None
    return _answer(found, kind)


comparisons.cls.operations = {"get": "run.view"}  # type: ignore[attr-defined]  # as views of a class declare it


def _answer(found: Comparison, kind: str) -> HttpResponse | Response:
    if kind == "json":
        return Response(comparison_tables.as_json(found))
    make = comparison_tables.as_csv if kind == "csv" else comparison_tables.as_html
    response = HttpResponse(make(found), content_type=f"text/{kind}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="pooldeck-comparison.{kind}"'
    return response


def _runs(asked: QueryDict, access: Access) -> list[Run]:
    ids, group = [text for text in asked.get("runs", "").split(",") if text], asked.get("group", "")
    if bool(ids) == bool(group):
        raise ValidationError({"runs": [gettext("name either the ids of runs, separated by commas, or their group")]})
    if len(ids) > run_comparisons.AT_MOST:
        text = gettext("%(count)s runs are too many: name at most %(most)s")
        raise ValidationError({"runs": [text % {"count": len(ids), "most": run_comparisons.AT_MOST}]})
    keys = [_key(text, "runs") for text in ids]
    runs = run_comparisons.chosen(keys, access) if keys else run_comparisons.of_group(_key(group, "group"), access)
    missing = set(keys) - {run.pk for run in runs}
    if missing:
        raise NotFound(gettext("no run %(ids)s") % {"ids": ", ".join(map(str, missing))})
    if not runs:
        raise NotFound(gettext("no runs of group %(group)s") % {"group": group})
    return runs


def _key(text: str, name: str) -> UUID:
    try:
        return UUID(text.strip())
    except ValueError:
        message = gettext("%(text)r is not an id: send one as the list of runs has it") % {"text": text[:40]}
        raise ValidationError({name: [message]}) from None


def _one_of(value: str, words: Collection[str], name: str) -> str:
    if value not in words:
        text = gettext("%(value)r is not allowed here: use one of %(choices)s")
        raise ValidationError({name: [text % {"value": value[:40], "choices": ", ".join(words)}]})
    return value
