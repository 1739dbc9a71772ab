"""The form of a channel of notices."""

from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from pools.forms.base import ENCRYPTED, PanelForm, password_field, time_zone_field
from pools.inventory import notification_channels
from pools.inventory.notification_channels import ChannelValues
from pools.models import NotificationChannel


def _time_input() -> forms.TimeInput:
    return forms.TimeInput(attrs={"type": "time"}, format="%H:%M")


class ChannelForm(PanelForm, forms.ModelForm):  # type: ignore[type-arg]
    """Form of a channel: where it sends to, and when it is quiet."""

    version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    url = password_field(_("Address of apprise"), ENCRYPTED)
    time_zone = time_zone_field()

    class Meta:
        model = NotificationChannel
        fields = notification_channels.FIELDS
        widgets = {"quiet_from": _time_input(), "quiet_until": _time_input()}
        labels = {
            "name": _("Name"),
            "enabled": _("Send events over this channel"),
            "group_s": _("Collect for"),
            "quiet_from": _("Quiet from"),
            "quiet_until": _("Quiet until"),
            "urgent_passes": _("Send critical events in quiet hours too"),
        }
        help_texts = {
            "name": _("The channel's name in the panel, such as on-call"),
            "enabled": _("A channel that is switched off drops the messages that it has not sent yet."),
            "group_s": _("Seconds for which events of one pooler or cluster become one message; 0 sends each at once"),
            "quiet_until": _("What came in quiet hours is one message at their end."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.is_of_environment:
            del self.fields["name"], self.fields["url"]
        elif self.instance._state.adding:
            self.fields["url"].required = True
        self.initial.setdefault("version", self.instance.version)

    def validate_unique(self) -> None:
        """Do nothing: the verb refuses a duplicate, and its message names the remedy."""

    def values(self) -> ChannelValues:
        """Return the values that `register` and `change` take."""
        names = {*notification_channels.FIELDS, "url"} & self.fields.keys()
        return cast(ChannelValues, {name: self.cleaned_data[name] for name in names})
