"""The form that makes an API token."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.utils import timezone

from panel.accounts.models import ApiToken
from panel.accounts.permissions import grantable

LIFETIMES = [(7, "in 7 days"), (30, "in 30 days"), (90, "in 90 days"), (365, "in a year"), (0, "never")]


class TokenForm(forms.Form):
    """A name, the scopes out of those that the user holds, and a lifetime."""

    name = forms.CharField(
        max_length=ApiToken._meta.get_field("name").max_length, help_text="What will use it, say: nightly benchmark"
    )
    scopes = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple({"class": "form-check-input"}),
        error_messages={"required": "choose at least one scope"},
    )
    lifetime_days = forms.TypedChoiceField(choices=LIFETIMES, coerce=int, initial=90, label="Expires")

    def __init__(self, user: AbstractBaseUser | AnonymousUser, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scopes = self.fields["scopes"]
        if isinstance(scopes, forms.MultipleChoiceField):
            scopes.choices = [(scope.value, scope.label) for scope in grantable(user)]

    def expires_at(self) -> datetime | None:
        """When the token ends, counted from now; None for never."""
        days: int = self.cleaned_data["lifetime_days"]
        return timezone.now() + timedelta(days=days) if days else None
