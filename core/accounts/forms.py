"""Forms of the account: its password, and the API tokens."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.accounts import confirmation, limits
from core.accounts.access import Access
from core.accounts.limits import Limit
from core.accounts.models import ApiToken, LimitKind, Role, Team
from core.accounts.new_tokens import USELESS, NewToken
from core.accounts.permissions import grantable

LIFETIMES = [
    (7, _("in 7 days")),
    (30, _("in 30 days")),
    (90, _("in 90 days")),
    (365, _("in a year")),
    (0, _("never")),
]


class TokenForm(forms.Form):
    """A name, the scopes out of those that the user may grant, a lifetime; of a team its role; and a limit.

    The limit is chosen by a link on the page of the record, and kept in a hidden field.
    """

    name = forms.CharField(
        label=_("Name"),
        max_length=ApiToken._meta.get_field("name").max_length,
        help_text=_("The name says what uses the token, for example: nightly benchmark"),
    )
    role = forms.ChoiceField(label=_("Role in the team"), choices=Role.choices, initial=Role.OPERATOR)
    scopes = forms.MultipleChoiceField(
        label=_("Scopes"),
        widget=forms.CheckboxSelectMultiple({"class": "form-check-input"}),
        error_messages={"required": _("choose at least one scope")},
    )
    lifetime_days = forms.TypedChoiceField(choices=LIFETIMES, coerce=int, initial=90, label=_("Expires"))
    limit = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, access: Access, team: Team | None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.access, self.team = access, team
        self.limited_to: Model | None = None
        self.limit_kind = LimitKind.FILES
        if team is None:
            del self.fields["role"]
        scopes = self.fields["scopes"]
        if isinstance(scopes, forms.MultipleChoiceField):
            scopes.choices = [(scope.value, scope.label) for scope in grantable(access)]
        if not self.is_bound:
            self._find_limit(self.initial.get("limit", ""))

    def clean_limit(self) -> Limit | None:
        """Find the record; an error where there is none that the token could see."""
        given: str = self.cleaned_data["limit"]
        self._find_limit(given)
        if given and self.limited_to is None:
            raise forms.ValidationError(_("there is no such record that the token could be limited to"))
        return (self.limit_kind, self.limited_to.pk) if self.limited_to else None

    def _find_limit(self, given: str) -> None:
        kind, _colon, key = given.partition(":")
        if kind in limits.CHOSEN:
            with suppress(ValidationError):
                self.limit_kind = LimitKind(kind)
                self.limited_to = limits.record_of(self.access, self.limit_kind, key)

    def clean(self) -> None:
        """Refuse scopes that the chosen role makes no use of."""
        if self.team is None or self.errors:
            return
        if useless := self.new_token(User()).useless_scopes:
            self.add_error("scopes", USELESS % {"scopes": ", ".join(useless)})

    def new_token(self, made_by: User) -> NewToken:
        """Return what was asked for; its lifetime is counted from now."""
        values = self.cleaned_data
        return NewToken(
            made_by=made_by,
            name=values["name"],
            scopes=values["scopes"],
            expires_at=moment_after(values["lifetime_days"]),
            team=self.team,
            role=Role(values["role"]) if self.team else None,
            limit=values["limit"],
        )


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
