"""The filters of the lists of clusters."""

import django_filters

from pools.models import Cluster, ClusterState


class ClusterFilter(django_filters.FilterSet):  # type: ignore[misc]  # django-filter carries no types
    """`state` is the result of the last check."""

    state = django_filters.ChoiceFilter(field_name="status__state", choices=ClusterState.choices)

    class Meta:
        model = Cluster
        fields = ["name", "host", "protected", "state"]
