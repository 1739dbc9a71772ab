"""The form of a pasted list of poolers, with one login for all."""

from django import forms
from django.utils.translation import gettext_lazy as _

from pools.forms.base import ENCRYPTED, PanelForm, password_field
from pools.models import PoolerKind, usual_kind
from pools.poolers import kinds_that


class PastedPoolersForm(PanelForm):
    """One pooler a line; `pools.inventory.pasted_poolers` reads them."""

    lines = forms.CharField(
        label=_("Poolers"),
        max_length=40_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false", "class": "pd-code-input"}),
        help_text=_("One a line: host, host:port (6432 if left out), or a postgresql:// URI with a login of its own"),
    )
    kind = forms.ChoiceField(
        label=_("Kind"),
        choices=[one for one in PoolerKind.choices if one[0] in kinds_that("has_console_login")],
        initial=usual_kind,
    )
    admin_user = forms.CharField(
        label=_("Console user"),
        max_length=63,
        initial="pooldeck",
        help_text=_("PgBouncer: one of its stats_users suffices; one of its admin_users can pause and resume, too"),
    )
    admin_password = password_field(_("Console password"), ENCRYPTED)

    def login(self) -> dict[str, object]:
        """Return the console login that is used for all lines."""
        return {name: self.cleaned_data[name] for name in ("kind", "admin_user", "admin_password")}
