"""Filters and search of API lists. They do not apply where a single record is read by its id."""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext as _
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.exceptions import ValidationError
from rest_framework.filters import BaseFilterBackend, SearchFilter
from rest_framework.request import Request
from rest_framework.views import APIView

from core.accounts.access import Access
from core.accounts.models import Scope
from core.accounts.permissions import holds

OF_EVERY_LIST = {"page", "page_size", "ordering", "search"}  # parameters that are no filters
SEARCH_WORDS = 10
SEARCH_CHARACTERS = 200
NAMED_AT_MOST = 200
NOTHING = Q(pk__in=())


class OnlyVisible(BaseFilterBackend):
    """Leaves what the caller may see, in lists and for single records alike: those of other teams are not found."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: APIView) -> QuerySet[Any]:
        return Access.of(request).visible(queryset)


class ListFilter(DjangoFilterBackend):  # type: ignore[misc]  # django-filter carries no types
    """The filters that a view declares; `usual` of a filter set is what it leaves where none of them is named.

    A filter set copies each of its filters and of the fields of its form, also where nobody filters.
    """

    def filter_queryset(self, request: Request, queryset: QuerySet[Model], view: APIView) -> QuerySet[Model]:
        if getattr(view, "detail", False):
            return queryset
        if request.query_params.keys() <= OF_EVERY_LIST:
            usual = getattr(getattr(view, "filterset_class", None), "usual", None)
            return usual(queryset) if usual else queryset
        found: QuerySet[Model] = super().filter_queryset(request, queryset, view)
        return found


class ListSearch(SearchFilter):
    """`search`, in the fields that a view declares: only an admin's looks into its `private_search_fields`."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: APIView) -> QuerySet[Any]:
        """Leave what has each word of `search`; what others may not read they must not find by its words either."""
        if getattr(view, "detail", False):
            return queryset
        private = getattr(view, "private_search_fields", [])
        if not private or not holds(request.user, request.auth, Scope.ADMIN):
            return super().filter_queryset(request, queryset, view)
        fields = self.get_search_fields(view, request) or []
        for word in self.get_search_terms(request):
            queryset = queryset.filter(having(word, fields) | _of_private(queryset.model, private, word))
        return queryset

    def get_search_terms(self, request: Request) -> list[str]:
        """Return the search terms; 400 for too many, since each is compared with every field."""
        search = request.query_params.get(self.search_param, "")
        terms: list[str] = super().get_search_terms(request)
        if len(terms) > SEARCH_WORDS or len(search) > SEARCH_CHARACTERS:
            detail = _(
                "search takes at most %(most_words)d words and %(most_characters)d characters: "
                "%(words)d words with %(characters)d characters were given"
            ) % {
                "most_words": SEARCH_WORDS,
                "most_characters": SEARCH_CHARACTERS,
                "words": len(terms),
                "characters": len(search),
            }
            raise ValidationError({self.search_param: [detail]})
        return terms


def having(word: str, fields: Iterable[str]) -> Q:
    """Return the condition that one of the fields has the word, in capital or small letters."""
    return reduce(or_, (Q(**{f"{field}__icontains": word}) for field in fields), NOTHING)


def _of_private(model: type[Model], fields: Iterable[str], word: str) -> Q:
    """Return the condition that one of these fields has the word, which the index of a search does not have.

    A query of its own leaves the rest of a search to the index of what everybody may search. A few records are named:
    the page and the count would each ask again, for mostly none.
    """
    filled = (Q(**{f"{field}__gt": "", f"{field}__icontains": word}) for field in fields)
    keys = model._default_manager.filter(reduce(or_, filled)).order_by().values_list("pk", flat=True)
    named = list(keys[: NAMED_AT_MOST + 1])
    return Q(pk__in=named if len(named) <= NAMED_AT_MOST else keys)
