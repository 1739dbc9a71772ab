"""The benchmarks app."""

from importlib import import_module

from django.apps import AppConfig


class BenchmarksConfig(AppConfig):
    """Runs, samples and datasets."""

    name = "benchmarks"

    def ready(self) -> None:
        """Register the operations of this app and what the audit trail follows; both need the models first."""
        operations = import_module("core.accounts.operations")
        operations.register(*import_module("benchmarks.operations").OPERATIONS)
        import_module("benchmarks.audited")
