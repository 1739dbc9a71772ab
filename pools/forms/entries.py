"""The form of a login through an entry."""

from django import forms
from django.utils.translation import gettext_lazy as _

from pools.forms.base import ENCRYPTED, PanelForm, password_field
from pools.models import Entry


class EntryLoginForm(PanelForm):
    """A user that the pooler lets in, with the password."""

    user = forms.CharField(
        label=_("User"), max_length=63, help_text=_("A role that the pooler lets in through this entry")
    )
    password = password_field(_("Password"), ENCRYPTED)
    database = forms.CharField(label=_("Database"), max_length=63, help_text=_("The one that clients name"))

    def __init__(self, *args: object, entry: Entry, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["user"].initial = entry.user
        if entry.database:
            del self.fields["database"]


class PassingLoginForm(EntryLoginForm):
    """The same of a login that is used at once and forgotten."""

    password = password_field(_("Password"), _("Used now, and kept nowhere"))
