"""The REST API of read-only links: list, make, read and revoke them, and see how often each was opened."""

from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from benchmarks.api.example_values import RUN
from benchmarks.experiments.report import shared_links
from benchmarks.experiments.report.shared_links import ComparisonOf, Shown
from benchmarks.models import Experiment, Run, SharedLink
from benchmarks.results import comparisons
from core.accounts.access import Access, allow
from core.accounts.permissions import person
from core.lib.known_fields import KnownFields

LONGEST_DAYS, USUAL_DAYS = 90, 7
LINK = "6d5c4b3a-2918-4706-8f5e-3d2c1b0a9f8e"


class SharedLinkSerializer(serializers.ModelSerializer[SharedLink]):
    """A link that shows the figures of a run, a comparison or an experiment to whoever has it, without a login."""

    runs = serializers.SerializerMethodField()
    author = serializers.CharField(source="author.username", default=None, read_only=True)
    works = serializers.BooleanField(read_only=True, help_text=_("It is neither revoked nor expired"))

    class Meta:
        model = SharedLink
        fields = [
            "id",
            "run",
            "runs",
            "experiment",
            "author",
            "created_at",
            "expires_at",
            "revoked_at",
            "works",
            "opened",
            "last_opened_at",
        ]
        read_only_fields = fields

    example: dict[str, object] = {
        "id": LINK,
        "run": RUN,
        "runs": None,
        "experiment": None,
        "author": "ada",
        "created_at": "2026-03-02T09:00:00Z",
        "expires_at": "2026-03-09T09:00:00Z",
        "revoked_at": None,
        "works": True,
        "opened": 3,
        "last_opened_at": "2026-03-03T10:12:00Z",
    }

    @extend_schema_field(
        serializers.ListField(
            child=serializers.UUIDField(), allow_null=True, help_text=_("Of a comparison; `run` is the first of them")
        )
    )
    def get_runs(self, link: SharedLink) -> list[str] | None:
        return link.comparison["runs"] if link.comparison else None


class AskedLinkSerializer(KnownFields, serializers.Serializer[Any]):
    """What a new link shows, one of `run`, `runs` and `experiment`, and for how long."""

    run = serializers.UUIDField(required=False)
    runs = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        min_length=shared_links.FEWEST_COMPARED,
        max_length=comparisons.AT_MOST,
        help_text=_("The runs of a comparison, in its order"),
    )
    baseline = serializers.CharField(
        required=False, max_length=64, help_text=_("Key of the comparison's baseline arm; default: the first run's arm")
    )
    experiment = serializers.UUIDField(required=False)
    lifetime_days = serializers.IntegerField(default=USUAL_DAYS, min_value=1, max_value=LONGEST_DAYS)

    example: dict[str, object] = {"run": RUN, "lifetime_days": USUAL_DAYS}

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Refuse a link to nothing or to several records, and a baseline without a comparison."""
        if len({"run", "runs", "experiment"} & set(values)) != 1:
            raise serializers.ValidationError({"run": [gettext("give one of run, runs and experiment")]})
        if "baseline" in values and "runs" not in values:
            raise serializers.ValidationError({"baseline": [gettext("only a comparison of runs has a baseline")]})
        return values

    def shown(self, access: Access) -> Shown:
        """Return what the link is to show; 400 for an id of nothing that the caller sees."""
        values: dict[str, Any] = self.validated_data
        if "experiment" in values:
            seen = access.visible(Experiment.objects.filter(pk=values["experiment"])).first()
            return seen or _not_found("experiment", [values["experiment"]])
        keys = values.get("runs") or [values["run"]]
        runs = comparisons.chosen(keys, access)
        if missing := [key for key in dict.fromkeys(keys) if key not in {run.pk for run in runs}]:
            return _not_found("runs" if "runs" in values else "run", missing)
        if "run" in values:
            return runs[0]
        if len(runs) < shared_links.FEWEST_COMPARED:
            raise serializers.ValidationError({"runs": [gettext("a comparison has two runs or more")]})
        return ComparisonOf(runs, self._baseline(runs))

    def _baseline(self, runs: list[Run]) -> str:
        baseline: str = self.validated_data.get("baseline", "")
        try:
            comparisons.compare(runs, baseline=baseline)
        except KeyError:
            text = gettext("%(key)r is not an arm of these runs: send a key of arms") % {"key": baseline}
            raise serializers.ValidationError({"baseline": [text]}) from None
        return baseline


def _not_found(field: str, keys: list[UUID]) -> Shown:
    text = gettext("no record that you may see has the id %(ids)s") % {"ids": ", ".join(map(str, keys))}
    raise serializers.ValidationError({field: [text]})


class NewLinkSerializer(SharedLinkSerializer):
    """A new link with its address, which is never shown again."""

    url = serializers.SerializerMethodField()

    class Meta(SharedLinkSerializer.Meta):
        fields = [*SharedLinkSerializer.Meta.fields, "url"]
        read_only_fields = fields

    example: dict[str, object] = SharedLinkSerializer.example | {
        "opened": 0,
        "last_opened_at": None,
        "url": "https://panel.example.org/shared/EXAMPLE-TOKEN-THAT-IS-SHOWN-ONCE/",
    }

    @extend_schema_field(serializers.URLField())
    def get_url(self, link: SharedLink) -> str:
        """Return the address that opens it."""
        address: str = self.context["address"]
        return address


class SharedLinkViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.DestroyModelMixin, GenericViewSet[SharedLink]
):
    """Read-only links: whoever has one sees figures and charts, and no password, statement, host or name."""

    queryset = SharedLink.objects.select_related("run", "experiment", "author")
    serializer_class = SharedLinkSerializer
    lookup_value_converter = "uuid"
    operations: ClassVar = dict.fromkeys(("list", "retrieve", "create", "destroy"), "link.manage")
    filterset_fields: ClassVar = {"run": ["exact"], "experiment": ["exact"], "revoked_at": ["isnull"]}
    ordering_fields: ClassVar = ["created_at", "expires_at", "opened", "last_opened_at"]

    @extend_schema(request=AskedLinkSerializer, responses={201: NewLinkSerializer})
    def create(self, request: Request) -> Response:
        """Make a link; `url` is in this response only."""
        serializer = AskedLinkSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        shown = serializer.shown(Access.of(request))
        allow(request, *(shown.runs if isinstance(shown, ComparisonOf) else [shown]))
        lifetime = timedelta(days=serializer.validated_data["lifetime_days"])
        link, address = shared_links.issue(shown, person(request.user), lifetime)
        context = {**self.get_serializer_context(), "address": address}
        return Response(NewLinkSerializer(link, context=context).data, status=status.HTTP_201_CREATED)

    def perform_destroy(self, instance: SharedLink) -> None:
        """Revoke the link; its row is kept as a record of how often it was opened."""
        instance.revoke()
