"""How the rows of API lists are ordered."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Model, QuerySet
from rest_framework.filters import OrderingFilter
from rest_framework.request import Request
from rest_framework.views import APIView


class StableOrdering(OrderingFilter):
    """`ordering`, else the model's own; the key decides between equals, so that no row stands on two pages."""

    def get_ordering(self, request: Request, queryset: QuerySet[Model], view: APIView) -> Sequence[Any]:
        """What to order by."""
        asked: Sequence[Any] | None = super().get_ordering(request, queryset, view)
        return [*(asked or queryset.model._meta.ordering or ()), "pk"]
