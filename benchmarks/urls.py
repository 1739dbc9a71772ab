"""Addresses of the pages of runs and datasets."""

from django.urls import URLPattern, URLResolver, path

from benchmarks.views import compare, datasets, importing, live, runs

urlpatterns: list[URLPattern | URLResolver] = [
    path("runs/", runs.run_list, name="run-list"),
    path("runs/new/", runs.run_create, name="run-create"),
    path("runs/new/preview/", runs.run_preview, name="run-preview"),
    path("runs/compare/", compare.run_compare, name="run-compare"),
    path("runs/import/", importing.run_import, name="run-import"),
    path("runs/<uuid:pk>/", live.run_detail, name="run-detail"),
    path("runs/<uuid:pk>/output/", live.run_output, name="run-output"),
    path("runs/<uuid:pk>/cancel/", live.run_cancel, name="run-cancel"),
    path("runs/<uuid:pk>/again/", runs.run_again, name="run-again"),
    path("datasets/", datasets.dataset_list, name="dataset-list"),
    path("datasets/new/", datasets.dataset_create, name="dataset-create"),
    path("datasets/new/facts/", datasets.dataset_facts, name="dataset-facts"),
]
