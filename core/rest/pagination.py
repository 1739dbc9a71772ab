"""Pagination of the API."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db.models import QuerySet
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from core.lib.long_lists import LongList


class Pages(PageNumberPagination):
    """`page` and `page_size`, at most 200 rows a page."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200

    def paginate_queryset(
        self, queryset: QuerySet[Any] | Sequence[Any], request: Request, view: APIView | None = None
    ) -> list[Any] | None:
        """Return the rows of the page; of a search their keys are read first, since it passes over many rows."""
        is_searched = bool(request.query_params.get(api_settings.SEARCH_PARAM))
        self.django_paginator_class = partial(LongList, keys_first=is_searched)  # type: ignore[assignment]  # it is called
        return super().paginate_queryset(queryset, request, view)
