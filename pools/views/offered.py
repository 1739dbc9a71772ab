"""What forms offer: the records of which a caller may make something, and no others."""

from typing import TypeVar

from django import forms
from django.http import HttpRequest

from core.accounts.access import Access, allow
from pools.forms.pools import PoolForm

Form = TypeVar("Form", bound=forms.BaseForm)


def offer(request: HttpRequest, form: Form, **operations: str) -> Form:
    """Leave in each named field the records on which its caller may do this; a choice of another one is refused."""
    access = Access.of(request)
    for name, operation in operations.items():
        field = form.fields.get(name)
        if isinstance(field, forms.ModelChoiceField) and field.queryset is not None and not access.is_admin:
            field.queryset = access.choices(field.queryset, operation)
    return form


def offer_pool(request: HttpRequest, form: PoolForm) -> PoolForm:
    """Leave in the form the poolers and clusters on which its caller may have pools.

    Raises `Http404` where another one that they do not see is chosen, `PermissionDenied` where they may have no pools
    there.
    """
    allow(request, form.chosen_cluster, form.chosen_pooler, form.pool, to="pool.create")
    return offer(request, form, pooler="pool.create", cluster="pool.create", through="pool.create")
