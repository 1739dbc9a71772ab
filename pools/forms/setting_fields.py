"""Form fields of the settings in a pooler's catalog; their values are validated in `pools.inventory`."""

from django import forms
from django.utils.translation import gettext as _

from pools.poolers.settings_schema import SWITCHED, Setting, Type

EMPTY = "empty_"  # prefix of the checkboxes for settings that are empty on purpose
ON_OFF = tuple(SWITCHED.items())


def field_of(setting: Setting) -> forms.CharField:
    """Return a text or select field for the setting; empty means the default."""
    return forms.CharField(
        label=setting.label, required=False, help_text=setting.help, widget=_widget(setting), empty_value=""
    )


def written(value: object) -> str:
    """Return a stored value as its field shows it: a boolean as `1` or `0`, None as an empty text."""
    return str(int(value)) if isinstance(value, bool) else "" if value is None else str(value)


def _widget(setting: Setting) -> forms.Widget:
    if setting.type in (Type.BOOLEAN, Type.CHOICE):
        pairs = ON_OFF if setting.type == Type.BOOLEAN else _accepted(setting)
        default = dict(pairs).get(setting.default, setting.default)
        unset = _("default: %(value)s") % {"value": default} if default else _("not set")
        return forms.Select(choices=[("", unset), *pairs])
    kind = {Type.NUMBER: "numeric", Type.SECONDS: "decimal"}.get(setting.type, "text")
    attrs = {"inputmode": kind, "placeholder": setting.default or _("not set"), "autocomplete": "off"}
    return forms.TextInput(attrs=attrs | {"spellcheck": "false", "class": "pd-mono"})


def _accepted(setting: Setting) -> tuple[tuple[str, str], ...]:
    refused = dict(setting.refused)
    return tuple((word, word) for word in setting.choices if word not in refused)
