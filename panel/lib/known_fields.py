"""Bodies whose every field is known: a misspelt one would be dropped unseen, and the opposite of the wish be done."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers


class KnownFields(serializers.Serializer[Any]):
    """Refuses a field that it has not, each with the names that there are."""

    def to_internal_value(self, given: Any) -> Any:
        """The values; 400 naming each unknown field. One that is only read may come back as it was read."""
        unknown = sorted(set(given) - set(self.fields)) if isinstance(given, Mapping) else []
        if unknown:
            names = ", ".join(name for name, field in self.fields.items() if not field.read_only)
            raise serializers.ValidationError({name: [f"there is no such field: use {names}"] for name in unknown})
        return super().to_internal_value(given)
