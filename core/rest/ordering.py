"""Ordering of API lists."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Model, QuerySet
from rest_framework.filters import OrderingFilter
from rest_framework.request import Request
from rest_framework.views import APIView

from core.lib.long_lists import whole_order


class StableOrdering(OrderingFilter):
    """Orders by `ordering`, else as the model does; the primary key breaks ties, so that no row is on two pages."""

    def get_ordering(self, request: Request, queryset: QuerySet[Model], view: APIView) -> Sequence[Any]:
        ordering: Sequence[Any] | None = super().get_ordering(request, queryset, view)
        return whole_order(queryset.model, ordering or queryset.model._meta.ordering or ())
