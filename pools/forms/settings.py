"""The forms of a pooler's settings, made from the catalogue; whether a value can be taken is the verbs' word."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from pools.forms.records import Typed
from pools.forms.setting_fields import EMPTY, field_of, written
from pools.inventory import pooler_settings_validation
from pools.models import Pooler
from pools.poolers.settings_schema import Scope, Setting, Type

UPLOAD = "upload_"
EITHER = "there is a value, and it is said to be empty on purpose: take one of them away"
NO_TEXT = "it is no text in UTF-8, as these files are: give the right file"


class ValuesForm(Typed):
    """Settings of one scope by their names, filled with what stands."""

    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, settings: Iterable[Setting], current: Mapping[str, Any], **kwargs: Any) -> None:
        self.settings = {setting.name: setting for setting in settings if setting.type != Type.FILE}
        self.current = current
        initial = {name: written(current.get(name)) for name in self.settings}
        super().__init__(*args, **kwargs | {"initial": initial | (kwargs.get("initial") or {})})
        for name, setting in self.settings.items():
            self.fields[name] = field_of(setting)
            if setting.may_be_empty:
                self.fields[EMPTY + name] = forms.BooleanField(label="Empty on purpose", required=False)
                self.initial[EMPTY + name] = current.get(name) == ""

    def clean(self) -> dict[str, Any]:
        """Refuse a value beside the word that there is none."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name in self.settings:
            if cleaned.get(EMPTY + name) and (cleaned.get(name) or "").strip():
                self.add_error(name, EITHER)
        return cleaned

    def rows(self) -> list[tuple[Setting, forms.BoundField]]:
        """Each setting with its field."""
        return [(setting, self[name]) for name, setting in self.settings.items()]

    def values(self) -> dict[str, str | None]:
        """What was typed where it is not what stands; None where the default is wished again."""
        typed = {name: self._typed(name) for name in self.settings}
        return {name: value for name, value in typed.items() if value != _current(self.current, name)}

    def _typed(self, name: str) -> str | None:
        value = (self.cleaned_data.get(name) or "").strip()
        return value if value or self.cleaned_data.get(EMPTY + name) else None

    def differences(self, current: Mapping[str, Any]) -> list[dict[str, str]]:
        """Where what was typed is not what somebody else saved meanwhile: label, yours, theirs."""
        pairs = [(name, self._typed(name), _current(current, name)) for name in self.settings]
        return [
            {"label": name, "yours": _reported(yours), "theirs": _reported(theirs)}
            for name, yours, theirs in pairs
            if yours != theirs
        ]


def _current(current: Mapping[str, Any], name: str) -> str | None:
    return written(current[name]) if name in current else None


def _reported(value: str | None) -> str:
    return "default" if value is None else value or "empty"


class ProgramSettingsForm(ValuesForm):
    """The settings of the whole program, for the release that was detected."""

    def __init__(self, *args: Any, pooler: Pooler, may_change: bool = True, **kwargs: Any) -> None:
        offered = pooler_settings_validation.offered(pooler, Scope.PROGRAM).values()
        strays = pooler_settings_validation.strays(pooler, Scope.PROGRAM, pooler.settings)
        initial = {"version": pooler.version}
        super().__init__(*args, settings=[*strays, *offered], current=pooler.settings, initial=initial, **kwargs)
        for field in self.fields.values() if not may_change else ():
            field.disabled = True


class UserSettingsForm(ValuesForm):
    """The limits of one user over all pools."""

    user = forms.CharField(help_text="A role as clients log in; for a pool with a fixed user, that one", strip=True)

    def __init__(self, *args: Any, pooler: Pooler, user: str = "", **kwargs: Any) -> None:
        offered = pooler_settings_validation.offered(pooler, Scope.USER).values()
        initial = {"version": pooler.version, "user": user}
        current = pooler.user_settings.get(user, {})
        strays = pooler_settings_validation.strays(pooler, Scope.USER, current)
        super().__init__(*args, settings=[*strays, *offered], current=current, initial=initial, **kwargs)


class FilesForm(Typed):
    """The files that a pooler's settings point to: each pasted, or uploaded."""

    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, pooler: Pooler, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"initial": {"version": pooler.version} | (kwargs.get("initial") or {})})
        self.settings = pooler_settings_validation.files_offered(pooler)
        for name, setting in self.settings.items():
            self.fields[name] = forms.CharField(
                label=setting.title, required=False, strip=False, help_text=setting.help, widget=_paper()
            )
            self.fields[UPLOAD + name] = forms.FileField(
                label=f"File for {name}", required=False, allow_empty_file=True
            )

    def clean(self) -> dict[str, Any]:
        """Let an upload take the place of what was pasted, in the form too, so that an error loses neither."""
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
        """The contents given, by setting; a field left empty changes nothing."""
        return {name: content for name in self.settings if (content := self.cleaned_data.get(name) or "").strip()}


def _paper() -> forms.Textarea:
    return forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "autocomplete": "off", "class": "pd-mono"})
