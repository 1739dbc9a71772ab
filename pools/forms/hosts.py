"""The form of a host."""

from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from pools.forms.base import PanelForm
from pools.inventory import hosts
from pools.models import Host


class HostForm(PanelForm, forms.ModelForm):  # type: ignore[type-arg]
    """Form of a host that is reached by SSH; the panel makes the key."""

    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    class Meta:
        model = Host
        fields = hosts.FIELDS
        labels = {
            "name": _("Name"),
            "address": _("Address"),
            "port": _("Port"),
            "user": _("Account"),
            "jump": _("Through"),
        }
        help_texts = {
            "name": _("The host's name in the panel, such as db-1"),
            "address": _("The name or address of its sshd"),
            "port": _("The port of its sshd"),
            "user": _("The account that owns the pooler's files there, such as postgres"),
            "jump": _("A host of the panel's that the connection goes through (ProxyJump)"),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        jumps = Host.objects.exclude(pk=self.instance.pk)
        self.fields["jump"].queryset = jumps  # type: ignore[attr-defined]
        self.fields["jump"].empty_label = _("no other host")  # type: ignore[attr-defined]
        if not self.instance._state.adding:
            self.initial.setdefault("version", self.instance.version)

    def validate_unique(self) -> None:
        """Do nothing: the verb refuses a duplicate, and its message names the remedy."""

    def values(self) -> hosts.HostValues:
        """Return the values that `hosts.register` and `hosts.change` take."""
        return cast(hosts.HostValues, {name: self.cleaned_data[name] for name in hosts.FIELDS})
