"""The form of a window of time: from, to, and the time zone in which both are meant."""

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pools.monitoring import windows
from pools.monitoring.windows import Window

MINUTE = "%Y-%m-%dT%H:%M"  # as the browser's own control reads and writes it


def zone_named(name: str) -> ZoneInfo | None:
    """Return the time zone of this name; None for an unknown one."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a path, or a folder of zones
        return None


class WindowForm(forms.Form):
    """Asks for both ends of a window; times without an offset are in the zone that is active while it is read."""

    since = forms.DateTimeField(
        label=gettext_lazy("From"), widget=forms.DateTimeInput({"type": "datetime-local"}, MINUTE)
    )
    until = forms.DateTimeField(
        label=gettext_lazy("Until"), widget=forms.DateTimeInput({"type": "datetime-local"}, MINUTE)
    )
    zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        required=False,
        widget=forms.TextInput({"list": "zones", "autocomplete": "off", "spellcheck": "false"}),
    )

    def clean_zone(self) -> str:
        """Refuse a zone that nobody knows."""
        name = str(self.cleaned_data["zone"])
        if name and zone_named(name) is None:
            raise forms.ValidationError(
                _("unknown time zone %(zone)s: write one such as Europe/Berlin or UTC") % {"zone": name}
            )
        return name or timezone.get_current_timezone_name()

    def clean(self) -> dict[str, object]:
        """Refuse a window that no chart can show."""
        values: dict[str, object] = super().clean() or self.cleaned_data
        since, until = self.cleaned_data.get("since"), self.cleaned_data.get("until")
        if since and until and (reason := windows.fault(since, until)):
            self.add_error("until", reason)
        return values

    def window(self) -> Window:
        """Return the window; call it after `is_valid()`."""
        return windows.between(self.cleaned_data["since"], self.cleaned_data["until"])
