"""The pools app."""

from importlib import import_module

from django.apps import AppConfig


class PoolsConfig(AppConfig):
    """Clusters, poolers, pools and revisions."""

    name = "pools"

    def ready(self) -> None:
        """Enter deliveries, drivers of poolers, which answer for the models, operations, and what the trail follows.

        They need the models first.
        """
        import_module("pools.config_files.deliveries")
        import_module("pools.poolers")
        import_module("core.accounts.operations").register(*import_module("pools.operations").OPERATIONS)
        import_module("pools.audited")
