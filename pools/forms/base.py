"""What all forms share: messages that name the field and the value, and errors of verbs beside their fields."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.functional import lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise  # The class exists in the stubs only.

ENCRYPTED = _("Encrypted at rest and never shown in forms again")


class PanelForm(forms.Form):
    """Base form whose messages name the field, and which shows the verbs' errors beside its fields."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            label = str(field.label or name.replace("_", " ")).lower()
            field.error_messages |= _messages_of(field, label)
            field.validators = [_with_remedy(validator) for validator in field.validators]

    def add_errors(self, errors: Mapping[str, list[str]]) -> None:
        """Show each error of a verb beside its field, or above the form where it has none."""
        for name, messages in errors.items():
            for message in messages:
                self.add_error(name if name in self.fields else None, message)


def _messages_of(field: forms.Field, label: str) -> dict[str, str]:
    named = {"label": label}
    found = {
        "required": gettext("%(label)s is needed: enter it") % named,
        "invalid_choice": gettext("this %(label)s is not there (any more): choose one of the list") % named,
    }
    if isinstance(field, forms.IntegerField):
        found["invalid"] = gettext("%(label)s must be a whole number: enter one such as 10") % named
    return found


def _with_remedy(validator: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return the same bound with a message that names the value and the limit."""
    if type(validator) is MinValueValidator:
        too_little = gettext("%(show_value)s is too little: use at least %(limit_value)s")
        return MinValueValidator(validator.limit_value, too_little)
    if type(validator) is MaxValueValidator:
        too_much = gettext("%(show_value)s is too much: use at most %(limit_value)s")
        return MaxValueValidator(validator.limit_value, too_much)
    return validator


def time_zone_field() -> forms.ChoiceField:
    """Return a field of all time zones by name, at first that of the panel."""
    return forms.ChoiceField(label=_("Time zone"), choices=lazy(_zones, list), initial=lambda: settings.TIME_ZONE)


def _zones() -> list[tuple[str, str]]:
    return [(name, name) for name in sorted(available_timezones())]


def password_field(label: "str | _StrPromise", help_text: "str | _StrPromise") -> forms.CharField:
    """Return an optional password field; it repeats what was typed beside an error, but never a stored password."""
    widget = forms.PasswordInput(render_value=True, attrs={"autocomplete": "new-password"})
    return forms.CharField(label=label, widget=widget, required=False, strip=False, help_text=help_text)
