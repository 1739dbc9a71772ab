"""Forms of clusters, poolers and pools: they parse the input; the verbs in `pools.inventory` validate it."""

from typing import Any, cast

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from pools.forms.base import ENCRYPTED, PanelForm, password_field
from pools.inventory import clusters
from pools.inventory.poolers import PoolerValues
from pools.models import Cluster, Pooler

KEPT = _("Leave empty to keep the stored one; a changed address needs it again")


class ClusterForm(PanelForm, forms.ModelForm):  # type: ignore[type-arg]
    """Form of a cluster, with the password of its admin login."""

    version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    admin_password = password_field(_("Admin password"), ENCRYPTED)

    class Meta:
        model = Cluster
        fields = clusters.FIELDS
        labels = {
            "name": _("Name"),
            "host": _("Host"),
            "port": _("Port"),
            "admin_user": _("Admin user"),
            "maintenance_database": _("Maintenance database"),
            "sslmode": _("SSL mode"),
            "sslrootcert": _("Certificate authority"),
            "memory_mb": _("Memory"),
            "vcpus": _("vCPUs"),
            "disk_gb": _("Disk"),
            "set_aside_connections": _("Set aside"),
            "protected": _("Protected: benchmarks that write ask for the cluster's name first"),
        }
        help_texts = {
            "name": _("The cluster's name in the panel, such as orders-production"),
            "admin_user": _("A role that may see all databases and sessions; superuser is not needed"),
            "maintenance_database": _("The database that the panel logs in to for its checks"),
            "sslmode": _("verify-full is the safest; prefer uses TLS where the server offers it"),
            "sslrootcert": _("PEM text; needed by verify-ca and verify-full"),
            "memory_mb": _("Used only to estimate the connections while the server can't be reached"),
            "set_aside_connections": _("Connections kept from pools, for direct logins by people and runs"),
            "protected": "",
        }
        widgets = {"sslrootcert": forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "pd-mono"})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding:
            self.initial["set_aside_connections"] = settings.CONNECTION_RESERVE
        else:
            self.initial.setdefault("version", self.instance.version)
            self.fields["admin_password"].help_text = KEPT

    def validate_unique(self) -> None:
        """Do nothing: the verb refuses a duplicate, and its message names the remedy."""

    def values(self) -> clusters.ClusterValues:
        """Return the values that `clusters.register` and `clusters.change` take."""
        typed = {name: self.cleaned_data[name] for name in (*clusters.FIELDS, "admin_password")}
        return cast(clusters.ClusterValues, typed)


class PoolerForm(PanelForm, forms.ModelForm):  # type: ignore[type-arg]
    """Form of a pooler, with the password of its console."""

    version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    admin_password = password_field(
        _("Console password"), _("Encrypted at rest and never shown in forms again; an HAProxy has none")
    )

    class Meta:
        model = Pooler
        fields = (
            *("name", "kind", "host", "port", "pcp_port", "stats_address", "admin_user"),
            *("client_host", "client_port", "delivery", "ssh_host", "config_dir", "generator", "desired_processes"),
        )
        labels = {
            "name": _("Name"),
            "kind": _("Kind"),
            "host": _("Host"),
            "port": _("Port"),
            "pcp_port": _("PCP port"),
            "admin_user": _("Console user"),
            "stats_address": _("Statistics"),
            "client_host": _("Host for clients"),
            "client_port": _("Port for clients"),
            "delivery": _("Delivery"),
            "config_dir": _("Configuration directory"),
            "ssh_host": _("Host by SSH"),
            "generator": _("Generator"),
            "desired_processes": _("Processes"),
        }
        help_texts = {
            "name": _("The pooler's name in the panel, such as edge-1"),
            "host": _("The host that clients connect to; the panel logs in to its console there too"),
            "pcp_port": _("Only for Pgpool-II: its control port (pcp_port), through which the panel reloads it"),
            "admin_user": _(
                "PgBouncer: one of its admin_users, or of its stats_users to read; Pgpool-II: a role of its servers; "
                "HAProxy: the role that health checks name, or the user of its stats page"
            ),
            "stats_address": _(
                "Only for an HAProxy without a folder here: its stats socket (a path or host:port) or the URL of its "
                "stats page"
            ),
            "client_host": _(
                "Connection strings show this host, such as a virtual IP, a DNS name or a Kubernetes Service; an empty "
                "field means the host above"
            ),
            "client_port": _("Connection strings show this port; an empty field means the port above"),
            "ssh_host": _("The host that the panel reaches by SSH, for that delivery; its consoles on loopback too"),
            "config_dir": _(
                "The folder of pgbouncer.ini, pgpool.conf or haproxy.cfg on its host, "
                "which the panel writes to. An empty field means that the pooler is watched and never changed"
            ),
            "delivery": _(
                "How the files get to its host. If its host fetches them (a container, Kubernetes, Ansible), the panel "
                "writes nothing there, the folder is where it puts them, and a change is pending until the console "
                "shows it"
            ),
            "generator": _("The worker of this generator writes there; an empty field means any worker"),
            "desired_processes": _(
                "A PgBouncer uses one core at most; this many processes share the port of a managed one. The panel "
                "writes a main file for each, and each opens the server connections of every pool"
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["delivery"].required = self.fields["desired_processes"].required = False
        if not self.instance._state.adding:
            self.initial.setdefault("version", self.instance.version)
            self.fields["admin_password"].help_text = KEPT

    def clean_delivery(self) -> str:
        """Return the chosen delivery, or the saved one without a choice."""
        return str(self.cleaned_data["delivery"] or self.instance.delivery)

    def clean_desired_processes(self) -> int:
        """Return the typed number, or the saved one without it."""
        return int(self.cleaned_data["desired_processes"] or self.instance.desired_processes)

    def validate_unique(self) -> None:
        """Do nothing: the verb refuses a duplicate, and its message names the remedy."""

    def values(self) -> PoolerValues:
        """Return the values that `poolers.register` and `poolers.change` take."""
        typed = {name: self.cleaned_data[name] for name in (*self.Meta.fields, "admin_password")}
        return cast(PoolerValues, typed)
