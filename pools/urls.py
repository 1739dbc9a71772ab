"""Addresses of the pages of clusters, poolers and pools."""

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []
