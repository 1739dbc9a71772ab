"""How API lists are filtered and searched; one record is found by its id, whatever else its address says."""

from typing import Any

from django.db.models import Model, QuerySet
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.filters import SearchFilter
from rest_framework.request import Request
from rest_framework.views import APIView


class ListFilter(DjangoFilterBackend):  # type: ignore[misc]  # django-filter carries no types
    """The filters that a view declares."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Model], view: APIView) -> Any:
        """The rows of a list that were asked for; all of them where one is looked up."""
        return queryset if getattr(view, "detail", False) else super().filter_queryset(request, queryset, view)


class ListSearch(SearchFilter):
    """`search`, in the fields that a view declares."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: APIView) -> Any:
        """The rows of a list that hold the words; all of them where one is looked up."""
        return queryset if getattr(view, "detail", False) else super().filter_queryset(request, queryset, view)
