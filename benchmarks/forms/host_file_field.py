"""The option of a run's form that names a file on the generator's host, such as a JMeter plan."""

from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from benchmarks.engines.base import Field
from benchmarks.generators import host_files
from benchmarks.generators.host_files import Offered

KIND = "host_file"
NONE_YET = _("No file found yet: put one into the folder of a generator, and reload this page.")


class _Names(forms.ChoiceField):
    """A file name as it was chosen; submission checks whether the generators have it."""

    def valid_value(self, value: Any) -> bool:
        return True


class WithHostFile(forms.Form):
    """A form that offers the files of the ticked generators, or of all live ones if none is ticked."""

    option_fields: tuple[Field, ...]
    engine_name: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for option in self.option_fields:
            if option.kind == KIND:
                self.fields[option.name] = self._field_of(option)

    def _field_of(self, option: Field) -> forms.ChoiceField:
        given = (
            self.data if self.is_bound else self.initial
        )  # reading a bound field would cache it before it is replaced
        files = self._files(str(given.get(option.name) or ""))
        return _Names(
            label=option.label,
            help_text=option.help if files else format_lazy("{} {}", NONE_YET, option.help),
            required=False,
            choices=[("", _("Choose…")), *files],
        )

    def _files(self, chosen: str) -> list[tuple[str, str]]:
        """Return (name, label) of each file and the `chosen` one; labels name the generators if others lack it."""
        offered = host_files.offered(self.engine_name, self["generators"].value() or ())
        everyone = {name for one in offered for name in one.generators}
        shown = {one.name: _shown(one, everyone) for one in offered}
        return list((shown | ({chosen: chosen} if chosen and chosen not in shown else {})).items())


def _shown(file: Offered, everyone: set[str]) -> str:
    if file.fault:
        return gettext("%(file)s (can't be used)") % {"file": file.name}
    if set(file.generators) < everyone:
        return gettext("%(file)s (on %(generators)s)") % {"file": file.name, "generators": ", ".join(file.generators)}
    return file.name
