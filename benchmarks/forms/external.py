"""The form of an external endpoint."""

from typing import Any

from django import forms

from benchmarks.models import ExternalEndpoint
from benchmarks.targets import external
from pools.forms.records import Typed
from pools.models import Cluster

POOLERS = ("RDS Proxy", "Odyssey", "pgcat", "PgBouncer", "Pgpool-II", "Supavisor", "PgDog")


class ExternalEndpointForm(Typed):
    """Where a load logs in, and what is known of it."""

    use_required_attribute = False

    name = forms.CharField(label="Name", max_length=100)
    uri = forms.CharField(
        label="URI",
        max_length=2000,
        help_text=f"{external.EXAMPLE}. Without a password, that of the same login at the same address is kept",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "pd-mono"}),
    )
    pooled_by = forms.CharField(
        label="Pooled by",
        max_length=60,
        required=False,
        help_text="Empty: nothing stands between the load and the server",
        widget=forms.TextInput(attrs={"list": "poolers", "autocomplete": "off"}),
    )
    sslrootcert = forms.CharField(
        label="Certificate authority",
        required=False,
        help_text="PEM text; needed by verify-ca and verify-full",
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "pd-mono"}),
    )
    cluster = forms.ModelChoiceField(
        Cluster.objects.all(),
        label="Leads to cluster",
        required=False,
        empty_label="One that is not registered",
        help_text="Then runs are compared with the cluster itself, and its server is watched",
    )
    cluster_database = forms.CharField(
        label="Database there", max_length=63, required=False, help_text="Empty: as in the URI"
    )
    console_user = forms.CharField(
        label="Console user",
        max_length=63,
        required=False,
        help_text="Of a console that speaks as PgBouncer's: SHOW POOLS is then read during runs",
    )
    console_password = forms.CharField(
        label="Console password",
        required=False,
        help_text="Empty: the one that is known",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )
    poolers = POOLERS

    @staticmethod
    def initial_of(endpoint: ExternalEndpoint) -> dict[str, Any]:
        """The values that stand, passwords left out."""
        names = ("name", "pooled_by", "sslrootcert", "cluster", "cluster_database", "console_user")
        return {name: getattr(endpoint, name) for name in names} | {"uri": external.uri_of(endpoint)}
