"""Form of a further node of a cluster."""

from typing import Any, cast

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from pools.clusters import nodes
from pools.forms.base import PanelForm, password_field
from pools.models import Cluster


class NodeForm(PanelForm):
    """Address of the node; asks for the admin password again where one is stored.

    A stored password is bound to its address and is never sent to a new one.
    """

    host = forms.CharField(
        label=_("Host"), max_length=255, help_text=_("A host name, an address, or the directory of a Unix socket")
    )
    port = forms.IntegerField(label=_("Port"), initial=5432)
    admin_password = password_field(_("Password"), "")

    def __init__(self, *args: Any, cluster: Cluster, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not cluster.sealed_admin_password:
            del self.fields["admin_password"]
            return
        password = self.fields["admin_password"]
        password.label = gettext("Password of %(role)s") % {"role": cluster.admin_user}
        stored = gettext("The password stored for %(host)s:%(port)s; the panel logs in to the node with it")
        password.help_text = stored % {"host": cluster.host, "port": cluster.port}

    def values(self) -> nodes.NodeValues:
        """Return the values that `nodes.add` takes."""
        return cast(nodes.NodeValues, dict(self.cleaned_data))
