"""The form of an external endpoint."""

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from benchmarks.forms.visible import VisibleChoices
from benchmarks.models import ExternalEndpoint
from benchmarks.targets import external
from pools.forms.base import PanelForm
from pools.forms.record_choice import RecordChoiceField

POOLERS = ("RDS Proxy", "Odyssey", "pgcat", "PgBouncer", "Pgpool-II", "Supavisor", "PgDog")


class ExternalEndpointForm(VisibleChoices, PanelForm):
    """The address of an external endpoint, and what the panel may assume about it."""

    use_required_attribute = False

    name = forms.CharField(label=_("Name"), max_length=100)
    uri = forms.CharField(
        label=_("URI"),
        max_length=2000,
        help_text=format_lazy(
            _("{example}. Without a password, the known one of the same login at the same address is kept"),
            example=external.EXAMPLE,
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "pd-mono"}),
    )
    pooled_by = forms.CharField(
        label=_("Pooled by"),
        max_length=60,
        required=False,
        help_text=_("Empty: the load connects to the server directly"),
        widget=forms.TextInput(attrs={"list": "poolers", "autocomplete": "off"}),
    )
    sslrootcert = forms.CharField(
        label=_("Certificate authority"),
        required=False,
        help_text=_("PEM text; needed by verify-ca and verify-full"),
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "pd-mono"}),
    )
    cluster = RecordChoiceField(
        "cluster",
        label=_("Routes to cluster"),
        required=False,
        empty_label=_("One that is not registered"),
        help_text=_("Lets runs be compared with the cluster itself, and its server be monitored"),
    )
    cluster_database = forms.CharField(
        label=_("Database there"), max_length=63, required=False, help_text=_("Empty: as in the URI")
    )
    console_user = forms.CharField(
        label=_("Console user"),
        max_length=63,
        required=False,
        help_text=_(
            "The panel polls SHOW POOLS during runs as this user, where the console is compatible with PgBouncer's"
        ),
    )
    console_password = forms.CharField(
        label=_("Console password"),
        required=False,
        help_text=_("Empty: the password on record"),
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )
    poolers = POOLERS

    @staticmethod
    def initial_of(endpoint: ExternalEndpoint) -> dict[str, object]:
        """Return the form's values of an endpoint, without passwords."""
        names = ("name", "pooled_by", "sslrootcert", "cluster", "cluster_database", "console_user")
        return {name: getattr(endpoint, name) for name in names} | {"uri": external.uri_of(endpoint)}
