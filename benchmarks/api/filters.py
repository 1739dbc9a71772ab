"""The filters of the list of runs."""

from uuid import UUID

import django_filters
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from benchmarks.engines import ENGINES
from benchmarks.models import Run, Status
from benchmarks.models.runs import RunQuerySet


class RunFilter(django_filters.FilterSet):  # type: ignore[misc]  # django-filter carries no types
    """`status` may be repeated; `target` is a pool's or a cluster's id; `parent` asks for the parts of a run."""

    status = django_filters.MultipleChoiceFilter(choices=Status.choices)
    engine = django_filters.ChoiceFilter(choices=[(name, name) for name in ENGINES])
    target = django_filters.UUIDFilter(method="aimed_at", label=_("A pool's or a cluster's id"))
    experiment = django_filters.UUIDFilter(field_name="experiment_id", label=_("An experiment's id"))

    parent = django_filters.UUIDFilter(label=_("The id of a run over several generators, for its parts"))

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
        ]

    def aimed_at(self, runs: RunQuerySet, name: str, target: UUID) -> RunQuerySet:
        """Filter by target: runs against the cluster, directly or through one of its pools, or through the pool."""
        return runs.filter(Q(pool=target) | Q(cluster=target))
