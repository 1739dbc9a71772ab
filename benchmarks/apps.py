"""The benchmarks app."""

from importlib import import_module

from django.apps import AppConfig


class BenchmarksConfig(AppConfig):
    """Runs, samples and datasets."""

    name = "benchmarks"

    def ready(self) -> None:
        """Register the operations of this app; they need the models first."""
        operations = import_module("core.accounts.operations")
        operations.register(*import_module("benchmarks.operations").OPERATIONS)
