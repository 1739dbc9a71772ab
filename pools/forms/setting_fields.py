"""Form fields made of the catalogue's settings; whether a value can be taken is the verbs' word."""

from typing import Any

from django import forms

from pools.poolers.settings_schema import SWITCHED, Setting, Type

EMPTY = "empty_"  # before the names of the fields that say of a setting that it is empty on purpose
ON_OFF = tuple(SWITCHED.items())


def field_of(setting: Setting) -> forms.CharField:
    """A field that takes whatever is typed, empty for the default."""
    return forms.CharField(
        label=setting.title, required=False, help_text=setting.help, widget=_widget(setting), empty_value=""
    )


def written(value: Any) -> str:
    """A stored value as the field shows it."""
    return str(int(value)) if isinstance(value, bool) else "" if value is None else str(value)


def _widget(setting: Setting) -> forms.Widget:
    if setting.type in (Type.BOOLEAN, Type.CHOICE):
        pairs = ON_OFF if setting.type == Type.BOOLEAN else _taken(setting)
        default = dict(pairs).get(setting.default, setting.default)
        return forms.Select(choices=[("", f"default: {default}" if default else "not set"), *pairs])
    kind = {Type.NUMBER: "numeric", Type.SECONDS: "decimal"}.get(setting.type, "text")
    attrs = {"inputmode": kind, "placeholder": setting.default or "not set", "autocomplete": "off"}
    return forms.TextInput(attrs=attrs | {"spellcheck": "false", "class": "pd-mono"})


def _taken(setting: Setting) -> tuple[tuple[str, str], ...]:
    refused = dict(setting.refused)
    return tuple((word, word) for word in setting.choices if word not in refused)
