"""Pagination of the API."""

from rest_framework.pagination import PageNumberPagination

from core.lib.long_lists import LongList


class Pages(PageNumberPagination):
    """`page` and `page_size`, at most 200 rows a page."""

    django_paginator_class = LongList
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200
