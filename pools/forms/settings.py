"""Forms of a pooler's settings, built from its catalog; the verbs in `pools.inventory` validate the values."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from pools.forms.base import PanelForm
from pools.forms.setting_fields import EMPTY, field_of, written
from pools.inventory import pooler_settings_validation
from pools.models import Pooler
from pools.poolers.settings_schema import Scope, Setting, Type

UPLOAD = "upload_"
EITHER = _("a value is given, but empty on purpose is checked: remove one of them")
NO_TEXT = _("this is not a text file in UTF-8: choose another file")


class ValuesForm(PanelForm):
    """Form of the settings of one scope, by name, filled with the current values."""

    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, settings: Iterable[Setting], current: Mapping[str, Any], **kwargs: Any) -> None:
        self.settings = {setting.name: setting for setting in settings if setting.type != Type.FILE}
        self.current = current
        initial = {name: written(current.get(name)) for name in self.settings}
        super().__init__(*args, **kwargs | {"initial": initial | (kwargs.get("initial") or {})})
        for name, setting in self.settings.items():
            self.fields[name] = field_of(setting)
            if setting.may_be_empty:
                self.fields[EMPTY + name] = forms.BooleanField(label=_("Empty on purpose"), required=False)
                self.initial[EMPTY + name] = current.get(name) == ""

    def clean(self) -> dict[str, object]:
        """Refuse a value together with a checked `empty on purpose`."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name in self.settings:
            if cleaned.get(EMPTY + name) and (cleaned.get(name) or "").strip():
                self.add_error(name, EITHER)
        return cleaned

    def rows(self) -> list[tuple[Setting, forms.BoundField]]:
        """Pair each setting with its bound field, in the catalog's order."""
        return [(setting, self[name]) for name, setting in self.settings.items()]

    def values(self) -> dict[str, str | None]:
        """Return the changed values by name; None resets a setting to its default."""
        typed = {name: self._typed(name) for name in self.settings}
        return {name: value for name, value in typed.items() if value != _current(self.current, name)}

    def _typed(self, name: str) -> str | None:
        value = (self.cleaned_data.get(name) or "").strip()
        return value if value or self.cleaned_data.get(EMPTY + name) else None

    def differences(self, current: Mapping[str, Any]) -> list[dict[str, str]]:
        """Return the typed values that somebody else has changed meanwhile: `label`, `yours`, `theirs`."""
        pairs = [(name, self._typed(name), _current(current, name)) for name in self.settings]
        return [
            {"label": name, "yours": _shown_value(yours), "theirs": _shown_value(theirs)}
            for name, yours, theirs in pairs
            if yours != theirs
        ]


def _current(current: Mapping[str, Any], name: str) -> str | None:
    return written(current[name]) if name in current else None


def _shown_value(value: str | None) -> str:
    if value is None:
        return gettext("default")
    return value or gettext("empty")


class ProgramSettingsForm(ValuesForm):
    """Form of the program's settings, for the detected release."""

    def __init__(self, *args: Any, pooler: Pooler, may_change: bool = True, **kwargs: Any) -> None:
        offered = pooler_settings_validation.offered(pooler, Scope.PROGRAM).values()
        strays = pooler_settings_validation.unknown_settings(pooler, Scope.PROGRAM, pooler.settings)
        initial = {"version": pooler.version}
        super().__init__(*args, settings=[*strays, *offered], current=pooler.settings, initial=initial, **kwargs)
        for field in self.fields.values() if not may_change else ():
            field.disabled = True


class UserSettingsForm(ValuesForm):
    """Form of the limits of one user over all pools."""

    user = forms.CharField(
        label=_("User"), help_text=_("The role that clients log in as; for a pool with a fixed user, that user")
    )

    def __init__(self, *args: Any, pooler: Pooler, user: str = "", **kwargs: Any) -> None:
        offered = pooler_settings_validation.offered(pooler, Scope.USER).values()
        initial = {"version": pooler.version, "user": user}
        current = pooler.user_settings.get(user, {})
        strays = pooler_settings_validation.unknown_settings(pooler, Scope.USER, current)
        super().__init__(*args, settings=[*strays, *offered], current=current, initial=initial, **kwargs)


class FilesForm(PanelForm):
    """Form of the files that a pooler's settings refer to; each is pasted or uploaded."""

    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, pooler: Pooler, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"initial": {"version": pooler.version} | (kwargs.get("initial") or {})})
        self.settings = pooler_settings_validation.files_offered(pooler)
        for name, setting in self.settings.items():
            self.fields[name] = forms.CharField(label=setting.label, required=False, strip=False, widget=_text_area())
            self.fields[UPLOAD + name] = forms.FileField(
                label=gettext("File for %(setting)s") % {"setting": name}, required=False, allow_empty_file=True
            )

    def clean(self) -> dict[str, object]:
        """Replace pasted text by an upload, in the form's data too, so that a later error keeps the upload."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name in self.settings:
            if upload := cleaned.get(UPLOAD + name):
                try:
                    cleaned[name] = upload.read(pooler_settings_validation.LARGEST_FILE + 1).decode()
                except UnicodeDecodeError:
                    self.add_error(name, NO_TEXT)
                else:
                    self.data = dict(self.data.items()) | {name: cleaned[name]}
        return cleaned

    def values(self) -> dict[str, str]:
        """Return the contents by setting; an empty field changes nothing."""
        return {name: content for name in self.settings if (content := self.cleaned_data.get(name) or "").strip()}


def _text_area() -> forms.Textarea:
    return forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "autocomplete": "off", "class": "pd-mono"})
