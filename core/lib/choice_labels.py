"""The label of a record's choice, without the labels of all others."""

from django.db import models
from django.utils.encoding import force_str


class ChoiceLabels(models.Model):
    """Looks one label up in `get_FIELD_display`.

    Django's builds a table of all of a field's choices at each call and so asks the catalog for every label, which is a
    twentieth of a page of 50 pools.
    """

    class Meta:
        abstract = True

    def _get_FIELD_display(self, field: "models.Field[object, object]") -> str:
        value = getattr(self, field.attname)
        label = next((label for known, label in field.flatchoices if known == value), value)
        text: str = force_str(label, strings_only=True)
        return text
