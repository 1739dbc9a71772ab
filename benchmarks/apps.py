"""The benchmarks app."""

from django.apps import AppConfig


class BenchmarksConfig(AppConfig):
    """Runs, samples and datasets."""

    name = "benchmarks"
