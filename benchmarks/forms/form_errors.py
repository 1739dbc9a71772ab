"""Shows what a verb refused in the form that asked for it."""

from django.forms import BaseForm

from benchmarks.errors import InvalidFields, InvalidGenerators, Unconfirmed
from core.lib.errors import DomainError


def add_to(form: BaseForm, error: DomainError) -> None:
    """Put the error's messages beside the fields that they concern, and those without a field above the form."""
    if not isinstance(error, InvalidFields | InvalidGenerators):
        form.add_error(None, error.sentences if isinstance(error, Unconfirmed) else str(error))
        return
    for field, messages in error.errors.items():
        for message in messages:
            form.add_error(field if field in form.fields else None, message)
