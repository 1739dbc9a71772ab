"""Fields of bodies that name a record by its id."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from core.accounts.access import Access


class VisibleField(serializers.PrimaryKeyRelatedField[Any]):
    """The id of a record that the caller may see; the serializer's context has the `request`."""

    def get_queryset(self) -> QuerySet[Any]:
        """Return the field's records without those of others."""
        rows: Any = super().get_queryset()
        found: QuerySet[Any] = Access.of(self.context["request"]).visible(rows)
        return found
