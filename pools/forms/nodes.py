"""The form of a further server of a cluster."""

from typing import Any

from django import forms

from pools.forms.records import Typed, password_field
from pools.models import Cluster


class NodeForm(Typed):
    """An address, and the cluster's admin password again where one is stored: it goes to no new address unasked."""

    host = forms.CharField(max_length=255, help_text="A host name, an address, or the directory of a Unix socket")
    port = forms.IntegerField(initial=5432)
    admin_password = password_field("Password", "")

    def __init__(self, *args: Any, cluster: Cluster, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not cluster.sealed_admin_password:
            del self.fields["admin_password"]
            return
        self.fields["admin_password"].label = f"Password of {cluster.admin_user}"
        self.fields[
            "admin_password"
        ].help_text = f"The one stored for {cluster.host}:{cluster.port}, for the login there"

    def values(self) -> dict[str, Any]:
        """What the verb takes."""
        return dict(self.cleaned_data)
