"""The form of a token that reads the files of one pooler."""

from datetime import datetime

from django import forms
from django.utils.translation import gettext_lazy as _

from core.accounts.forms import LIFETIMES, moment_after
from core.accounts.models import ApiToken
from pools.forms.base import PanelForm


class FilesTokenForm(PanelForm):
    """A name and a lifetime; a loop that fetches for years has no end unless one is chosen."""

    name = forms.CharField(
        label=_("Name"),
        max_length=ApiToken._meta.get_field("name").max_length,
        required=False,
        help_text=_("The name says where the token is kept, for example: db-1"),
    )
    lifetime_days = forms.TypedChoiceField(choices=LIFETIMES, coerce=int, initial=0, label=_("Expires"))

    def expires_at(self) -> datetime | None:
        """Return when the token ends, counted from now; None for never."""
        return moment_after(self.cleaned_data["lifetime_days"])
