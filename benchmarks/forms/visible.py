"""Forms that offer what their user may see."""

from django import forms

from core.accounts.access import Access


class VisibleChoices(forms.Form):
    """A form whose selects have the records that the user may see; `access` is theirs."""

    def __init__(self, *args: object, access: Access, **kwargs: object) -> None:
        self.access = access
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # Django's own, passed on
        for field in self.fields.values():
            if isinstance(field, forms.ModelChoiceField) and field.queryset is not None:
                field.queryset = access.visible(field.queryset)
