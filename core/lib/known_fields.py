"""Request bodies with known fields only: a misspelled field would otherwise be ignored silently."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers


class KnownFields(serializers.Serializer[Any]):
    """A serializer that refuses unknown fields, naming those it has."""

    def to_internal_value(self, given: object) -> object:
        """Validate the values; 400 for each unknown field. Read-only fields are accepted and ignored."""
        unknown = sorted(set(given) - set(self.fields)) if isinstance(given, Mapping) else []
        if unknown:
            names = ", ".join(name for name, field in self.fields.items() if not field.read_only)
            message = _("there is no such field: use %(names)s") % {"names": names}
            raise serializers.ValidationError({name: [message] for name in unknown})
        return super().to_internal_value(given)
