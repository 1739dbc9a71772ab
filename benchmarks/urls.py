"""Addresses of the pages of runs and datasets."""

from django.urls import URLPattern, URLResolver, path

from benchmarks.views import ceilings, compare, datasets, generators, importing, keeping, live, profiles, runs, scripts

urlpatterns: list[URLPattern | URLResolver] = [
    path("runs/", runs.run_list, name="run-list"),
    path("runs/new/", runs.run_create, name="run-create"),
    path("runs/new/preview/", runs.run_preview, name="run-preview"),
    path("runs/compare/", compare.run_compare, name="run-compare"),
    path("runs/import/", importing.run_import, name="run-import"),
    path("runs/<uuid:pk>/", live.run_detail, name="run-detail"),
    path("runs/<uuid:pk>/output/", live.run_output, name="run-output"),
    path("runs/<uuid:pk>/note/", keeping.run_annotate, name="run-annotate"),
    path("runs/<uuid:pk>/baseline/", keeping.run_baseline, name="run-baseline"),
    path("runs/<uuid:pk>/export/<slug:kind>/", keeping.run_export, name="run-export"),
    path("runs/<uuid:pk>/cancel/", live.run_cancel, name="run-cancel"),
    path("runs/<uuid:pk>/again/", runs.run_again, name="run-again"),
    path("scripts/", scripts.script_list, name="script-list"),
    path("scripts/new/", scripts.script_create, name="script-create"),
    path("scripts/tried/<uuid:pk>/", scripts.script_tried, name="script-tried"),
    path("scripts/<uuid:pk>/", scripts.script_detail, name="script-detail"),
    path("scripts/<uuid:pk>/edit/", scripts.script_edit, name="script-edit"),
    path("scripts/<uuid:pk>/delete/", scripts.script_delete, name="script-delete"),
    path("scripts/<uuid:pk>/<int:number>/dry-run/", scripts.script_try, name="script-try"),
    path("settings-profiles/", profiles.profile_list, name="profile-list"),
    path("settings-profiles/new/", profiles.profile_create, name="profile-create"),
    path("settings-profiles/propose/", profiles.profile_propose, name="profile-propose"),
    path("settings-profiles/<uuid:pk>/", profiles.profile_detail, name="profile-detail"),
    path("settings-profiles/<uuid:pk>/edit/", profiles.profile_edit, name="profile-edit"),
    path("settings-profiles/<uuid:pk>/delete/", profiles.profile_delete, name="profile-delete"),
    path("ceilings/", ceilings.ceiling_list, name="ceiling-list"),
    path("ceilings/new/", ceilings.ceiling_create, name="ceiling-create"),
    path("ceilings/<int:pk>/", ceilings.ceiling_edit, name="ceiling-edit"),
    path("ceilings/<int:pk>/delete/", ceilings.ceiling_delete, name="ceiling-delete"),
    path("generators/", generators.generator_list, name="generator-list"),
    path("generators/<str:name>/forget/", generators.generator_forget, name="generator-forget"),
    path("datasets/", datasets.dataset_list, name="dataset-list"),
    path("datasets/new/", datasets.dataset_create, name="dataset-create"),
    path("datasets/new/facts/", datasets.dataset_facts, name="dataset-facts"),
]
