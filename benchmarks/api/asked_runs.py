"""Requests for runs; submission checks the rules."""

from typing import Any, TypedDict

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from benchmarks.api.serializers import ThresholdSerializer
from benchmarks.engines import DEFAULT_ENGINE, ENGINES
from benchmarks.models import Purpose
from benchmarks.models import thresholds as run_thresholds
from benchmarks.models.thresholds import Threshold
from benchmarks.results import annotations
from benchmarks.runs.submission.submit import MOST_REPEATS
from benchmarks.runs.submission.sweep import MOST_STEPS
from benchmarks.targets.resolve import RequestedTarget
from core.accounts.models import Team
from core.lib.known_fields import KnownFields
from core.rest.teams import OF_TEAM, TeamField


@extend_schema_field(ThresholdSerializer(many=True))
class ThresholdsField(serializers.ListField):
    """Thresholds as they were sent; benchmarks.models.thresholds checks them."""

    def to_internal_value(self, raw: list[object]) -> list[Threshold]:
        try:
            return run_thresholds.read(super().to_internal_value(raw))
        except run_thresholds.InvalidThresholds as error:
            raise serializers.ValidationError(error.errors) from error


class AskedTargetSerializer(serializers.Serializer[Any]):
    """`{cluster, database, user}`, `{pool, user}`, `{entry, user}` or `{external}`; see benchmarks.targets.resolve."""

    cluster = serializers.UUIDField(required=False)
    database = serializers.CharField(required=False)
    user = serializers.CharField(
        required=False, help_text=_("A role that the panel knows; default: the pool's user, or the cluster's admin")
    )
    pool = serializers.UUIDField(required=False)
    external = serializers.UUIDField(
        required=False, help_text=_("An endpoint of `external-endpoints/`; needs no other field")
    )
    entry = serializers.UUIDField(
        required=False, help_text=_("An entry of a pooler whose login was given at `entries/{id}/endpoint/`")
    )


@extend_schema_field(AskedTargetSerializer())
class AskedTargetField(serializers.DictField):
    """The target as it was sent, so that an unknown key is reported instead of dropped."""


class AskedRun(TypedDict):
    """The body of a request for runs, once it is validated."""

    target: RequestedTarget
    engine: str
    options: dict[str, object]
    purpose: str
    name: str
    tags: list[str]
    confirm: str
    pair: bool
    repeat: int
    sweep_clients: list[int]
    generators: list[str]
    alongside: bool
    thresholds: list[Threshold]


class AskedRunSerializer(KnownFields):
    """A request for a run: each engine has options of its own. pgbench executes a request without `engine`."""

    target = AskedTargetField()
    engine = serializers.ChoiceField(list(ENGINES), default=DEFAULT_ENGINE)
    options = serializers.DictField(
        default=dict,
        help_text=_(
            "Named after the program's own options, beside the panel's; loads and datasets have different ones"
        ),
    )
    purpose = serializers.ChoiceField(
        [(Purpose.LOAD.value, _("load")), (Purpose.PREPARE.value, _("prepare a dataset (options: scale)"))],
        default=Purpose.LOAD.value,
    )
    name = serializers.CharField(default="", allow_blank=True, max_length=200)
    tags = serializers.ListField(child=serializers.CharField(), default=list, help_text=_("Labels for finding runs"))
    confirm = serializers.CharField(
        default="",
        allow_blank=True,
        help_text=_("The name of the cluster or database, if a run that writes requires it"),
    )
    pair = serializers.BooleanField(
        default=False,
        help_text=_(
            "For a pool, or an external endpoint with a cluster: the same load on the cluster first, then "
            "pooled, in one group; with `repeat` so many pairs, each second one turned round (direct, pooled, pooled, "
            "direct)"
        ),
    )
    repeat = serializers.IntegerField(
        default=1,
        min_value=1,
        max_value=MOST_REPEATS,
        help_text=_("Number of such runs or pairs, one after the other in a group"),
    )
    sweep_clients = serializers.ListField(
        child=serializers.IntegerField(min_value=1),
        default=list,
        max_length=MOST_STEPS,
        help_text=_(
            "2 or more different numbers of clients in place of that in `options`: each gets such runs or pairs, all "
            "in one group, each second repeat in turned order; pgbench gets no more `threads` than clients. Empty: no "
            "sweep"
        ),
    )
    generators = serializers.ListField(
        child=serializers.CharField(),
        default=list,
        help_text=_(
            "Names of the generators that execute it; empty, or `any`: any free one. With several, each executes a "
            "part of the load and all start at the same moment: `clients` and `rate` are totals and are split (a "
            "remainder goes to the first named, one client each), every other option holds for each generator"
        ),
    )
    alongside = serializers.BooleanField(
        default=False,
        help_text=_("Start even if another run uses the target or the generator: they distort each other's figures"),
    )

    thresholds = ThresholdsField(
        child=serializers.JSONField(),
        default=list,
        help_text=_(
            "Limits that the figures must meet for the run's `gate` to be `passed`; a run that is not valid fails"
        ),
    )

    def validate_tags(self, tags: list[str]) -> list[str]:
        """Remove repeated tags and keep the order."""
        try:
            return annotations.check_tags(tags)
        except annotations.InvalidNote as error:
            raise serializers.ValidationError(error.errors["tags"]) from None

    def validate(self, asked: AskedRun) -> AskedRun:
        if asked["pair"] and asked["purpose"] != Purpose.LOAD:
            raise serializers.ValidationError({"pair": [_("only loads can be paired: leave out purpose")]})
        return asked


class AskedImport(TypedDict, total=False):
    """The body of an import, once it is validated: one of `text` and `file`."""

    text: str
    file: "UploadedFile[bytes]"
    name: str
    team: Team


class ImportSerializer(KnownFields):
    """Output of any pgbench or sysbench, standard output and error together: as `text`, or as the `file` of a form."""

    text = serializers.CharField(trim_whitespace=False, required=False)
    file = serializers.FileField(required=False, write_only=True)
    name = serializers.CharField(default="", allow_blank=True, max_length=200)
    team = TeamField(queryset=Team.objects.all(), required=False, help_text=OF_TEAM)

    def validate(self, attrs: AskedImport) -> AskedImport:
        if len({"text", "file"} & set(attrs)) != 1:
            text = _("send the output as text in JSON, or as file in multipart/form-data")
            raise serializers.ValidationError({"text": [text]})
        return attrs
