"""The pools app."""

from django.apps import AppConfig


class PoolsConfig(AppConfig):
    """Clusters, poolers, pools and revisions."""

    name = "pools"
