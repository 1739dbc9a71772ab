"""Simulations that show how far the verdicts and intervals of `benchmarks.analysis` can be relied on."""

import os

import django
from django.apps import apps

# comparisons know of runs, whose models need the apps
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
if not apps.ready:
    django.setup()
