"""What forms offer: the records of which a caller may make something, and no others."""

from typing import TypeVar

from django import forms
from django.http import HttpRequest

from core.accounts.access import Access

Form = TypeVar("Form", bound=forms.BaseForm)


def offer(request: HttpRequest, form: Form, **operations: str) -> Form:
    """Leave in each named field the records on which its caller may do this; a choice of another one is refused."""
    access = Access.of(request)
    for name, operation in operations.items():
        field = form.fields.get(name)
        if isinstance(field, forms.ModelChoiceField) and field.queryset is not None and not access.is_admin:
            field.queryset = access.choices(field.queryset, operation)
    return form
