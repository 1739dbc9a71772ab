"""How API lists are filtered and searched; one record is found by its id, whatever else its address says."""

from typing import Any

from django.db.models import Model, QuerySet
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.exceptions import ValidationError
from rest_framework.filters import SearchFilter
from rest_framework.request import Request
from rest_framework.views import APIView

SEARCH_WORDS = 10
SEARCH_CHARACTERS = 200


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

    def get_search_terms(self, request: Request) -> list[str]:
        """The words asked for; 400 for more than a query can carry: each is compared with each field."""
        asked = request.query_params.get(self.search_param, "")
        terms: list[str] = super().get_search_terms(request)
        if len(terms) > SEARCH_WORDS or len(asked) > SEARCH_CHARACTERS:
            limits = f"at most {SEARCH_WORDS} words and {SEARCH_CHARACTERS} characters"
            detail = f"{len(terms)} words in {len(asked)} characters were given: search takes {limits}"
            raise ValidationError({self.search_param: [detail]})
        return terms
