"""The filters of lists, and the flag that shows what experiments made for themselves."""

import django_filters
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from core.rest.teams import TeamFilter
from pools.models import Cluster, ClusterState, Entry, Host, Management, Pool, Pooler
from pools.models.poolers import PoolerQuerySet
from pools.models.pools import PoolQuerySet

EXPERIMENTS_HELP = _("Also those that experiments made for themselves")
EXPERIMENTS = OpenApiParameter("experiments", OpenApiTypes.BOOL, default=False, description=EXPERIMENTS_HELP)


class ClusterFilter(django_filters.FilterSet):  # type: ignore[misc]  # django-filter carries no types
    """`state` is the result of the last check."""

    state = django_filters.ChoiceFilter(field_name="status__state", choices=ClusterState.choices)
    team = TeamFilter()

    class Meta:
        model = Cluster
        fields = ["name", "host", "protected", "state", "team"]


class HostFilter(django_filters.FilterSet):  # type: ignore[misc]  # django-filter carries no types
    """`state` is the result of the last check."""

    team = TeamFilter()

    class Meta:
        model = Host
        fields = ["name", "address", "state", "team"]


class PoolerFilter(django_filters.FilterSet):  # type: ignore[misc]  # django-filter carries no types
    """`management` is whether the panel writes its files."""

    management = django_filters.ChoiceFilter(method="managed", choices=Management.choices)
    team = TeamFilter()

    class Meta:
        model = Pooler
        fields = ["name", "kind", "host", "state", "generator", "management", "team"]

    def managed(self, poolers: PoolerQuerySet, name: str, value: str) -> PoolerQuerySet:
        """Keep the poolers of one management: watched, or managed."""
        return poolers.watched() if value == Management.WATCHED else poolers.managed()


class EntryFilter(django_filters.FilterSet):  # type: ignore[misc]  # django-filter carries no types
    """`managed` is whether a pool of the panel stands for the entry."""

    managed = django_filters.BooleanFilter(field_name="pool", lookup_expr="isnull", exclude=True)

    class Meta:
        model = Entry
        fields = ["name", "pooler", "cluster", "database", "user", "mode", "managed"]


class PoolFilter(django_filters.FilterSet):  # type: ignore[misc]  # django-filter carries no types
    """Pools that experiments made for themselves are left out unless `experiments` is true; `team` is the cluster's."""

    experiments = django_filters.BooleanFilter(method="shown", label=EXPERIMENTS_HELP)
    team = TeamFilter("cluster__team")

    class Meta:
        model = Pool
        fields = ["name", "pooler", "cluster", "database", "user", "mode", "state", "team"]

    def filter_queryset(self, queryset: PoolQuerySet) -> PoolQuerySet:
        """Leave out what nobody asked for."""
        found: PoolQuerySet = super().filter_queryset(queryset)
        return found if self.form.cleaned_data.get("experiments") else self.usual(found)

    @staticmethod
    def usual(pools: PoolQuerySet) -> PoolQuerySet:
        """Leave out what experiments made for themselves."""
        return pools.of_people()

    def shown(self, pools: PoolQuerySet, name: str, value: bool) -> PoolQuerySet:
        """Filter nothing: `filter_queryset` does, where the parameter is not given too."""
        return pools
