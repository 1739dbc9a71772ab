"""The filters of the list of runs."""

from uuid import UUID

import django_filters
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from benchmarks.engines import ENGINES
from benchmarks.models import Run, Status
from benchmarks.models.runs import RunQuerySet
from core.rest.teams import TeamFilter

FIRST_KEY = UUID(int=0)
NAME_ONES_OWN = ("experiments", "experiment", "group", "parent", "number")  # whoever asks for these means those


class RunFilter(django_filters.FilterSet):  # type: ignore[misc]  # django-filter carries no types
    """`status` may be repeated; `target` is a pool's or a cluster's id; `parent` asks for the parts of a run.

    Runs of experiments are left out unless `experiments` is true, or a filter names theirs.
    """

    status = django_filters.MultipleChoiceFilter(choices=Status.choices, distinct=False)
    engine = django_filters.ChoiceFilter(choices=[(name, name) for name in ENGINES])
    target = django_filters.UUIDFilter(method="aimed_at", label=_("A pool's or a cluster's id"))
    experiment = django_filters.UUIDFilter(field_name="experiment_id", label=_("An experiment's id"))
    experiments = django_filters.BooleanFilter(method="shown", label=_("Also the runs of experiments"))

    parent = django_filters.UUIDFilter(label=_("The id of a run over several generators, for its parts"))

    team = TeamFilter(method="of_team")
    tag = django_filters.CharFilter(field_name="tags__name", label=_("A whole tag"))

    class Meta:
        model = Run
        fields = [
            "number",
            "status",
            "target",
            "engine",
            "experiment",
            "purpose",
            "group",
            "validity",
            "gate",
            "is_baseline",
            "team",
        ]

    def of_team(self, runs: RunQuerySet, name: str, team: UUID) -> RunQuerySet:
        """Filter by team: runs on what belongs to it, and those imported for it."""
        return runs.of_team(team)

    def aimed_at(self, runs: RunQuerySet, name: str, target: UUID) -> RunQuerySet:
        """Filter by target: runs against the cluster, directly or through one of its pools, or through the pool."""
        return runs.filter(Q(pool=target) | Q(cluster=target))

    def filter_queryset(self, queryset: RunQuerySet) -> RunQuerySet:
        """Leave out the runs of experiments where nobody asked for them."""
        found: RunQuerySet = super().filter_queryset(queryset)
        return found if self._asks_for_experiments() else self.usual(found)

    @staticmethod
    def usual(runs: RunQuerySet) -> RunQuerySet:
        """Leave out the runs of experiments."""
        return runs.of_people()

    def left_out(self) -> RunQuerySet:
        """Return the runs of experiments that match, where they are left out."""
        found: RunQuerySet = super().filter_queryset(self.queryset)
        # A range, because SQLite seeks no `IS NOT NULL` in an index: it would read the index of all other runs.
        left_out = found.none() if self._asks_for_experiments() else found.filter(experiment__gte=FIRST_KEY)
        return left_out.in_parts(None)  # that range is the quickest way to them, whoever asks

    def _asks_for_experiments(self) -> bool:
        return any(self.form.cleaned_data.get(name) for name in NAME_ONES_OWN)

    def shown(self, runs: RunQuerySet, name: str, value: bool) -> RunQuerySet:
        """Filter nothing: `filter_queryset` does, where the parameter is not given too."""
        return runs
