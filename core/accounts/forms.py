"""Forms of the account: its password, and the API tokens."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.accounts import confirmation
from core.accounts.models import ApiToken
from core.accounts.permissions import grantable

LIFETIMES = [
    (7, _("in 7 days")),
    (30, _("in 30 days")),
    (90, _("in 90 days")),
    (365, _("in a year")),
    (0, _("never")),
]


class TokenForm(forms.Form):
    """A name, the scopes out of those that the user holds, and a lifetime."""

    name = forms.CharField(
        label=_("Name"),
        max_length=ApiToken._meta.get_field("name").max_length,
        help_text=_("What uses the token, for example: nightly benchmark"),
    )
    scopes = forms.MultipleChoiceField(
        label=_("Scopes"),
        widget=forms.CheckboxSelectMultiple({"class": "form-check-input"}),
        error_messages={"required": _("choose at least one scope")},
    )
    lifetime_days = forms.TypedChoiceField(choices=LIFETIMES, coerce=int, initial=90, label=_("Expires"))

    def __init__(self, user: AbstractBaseUser | AnonymousUser, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scopes = self.fields["scopes"]
        if isinstance(scopes, forms.MultipleChoiceField):
            scopes.choices = [(scope.value, scope.label) for scope in grantable(user)]

    def expires_at(self) -> datetime | None:
        """Return when the token ends, counted from now; None for never."""
        return moment_after(self.cleaned_data["lifetime_days"])


def moment_after(days: int) -> datetime | None:
    """Return when a lifetime that begins now ends; None where it is 0, which is without an end."""
    return timezone.now() + timedelta(days=days) if days else None


class OwnPasswordForm(PasswordChangeForm):
    """A person's own password, changed with the one before, which counts against the limits of failed logins."""

    def __init__(self, request: HttpRequest, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        self._request = request

    def clean_old_password(self) -> str:
        """Check the password before as the login does."""
        entered: str = self.cleaned_data["old_password"]
        if not confirmation.confirm(self._request, entered):
            raise forms.ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return entered
