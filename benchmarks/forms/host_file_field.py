"""The option of a run's form that names a file of the generator's host: a plan of JMeter."""

from typing import Any

from django import forms

from benchmarks.engines.base import Field
from benchmarks.generators import host_files
from benchmarks.generators.host_files import Offered

KIND = "host_file"
NONE_YET = "None is there yet: put one into the folder of a generator, and load this page again."


class _Names(forms.ChoiceField):
    """A name of a file, as it was chosen; whether the generators have it is the word of the verb."""

    def valid_value(self, value: Any) -> bool:
        """Any name is one."""
        return True


class WithHostFile(forms.Form):
    """A form of generators whose files can be chosen from what those ticked have, or any that lives."""

    option_fields: tuple[Field, ...]
    engine_name: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for option in self.option_fields:
            if option.kind == KIND:
                self.fields[option.name] = self._field_of(option)

    def _field_of(self, option: Field) -> forms.ChoiceField:
        given = self.data if self.is_bound else self.initial  # a bound field would stay that of the field before
        files = self._files(str(given.get(option.name) or ""))
        return _Names(
            label=option.label,
            help_text=option.help if files else f"{NONE_YET} {option.help}",
            required=False,
            choices=[("", "Choose…"), *files],
        )

    def _files(self, chosen: str) -> list[tuple[str, str]]:
        """Each file, with who has it where others have not; the one chosen before stays in sight."""
        offered = host_files.offered(self.engine_name, self["generators"].value() or ())
        everyone = {name for one in offered for name in one.generators}
        shown = {one.name: _shown(one, everyone) for one in offered}
        return list((shown | ({chosen: chosen} if chosen and chosen not in shown else {})).items())


def _shown(file: Offered, everyone: set[str]) -> str:
    if file.fault:
        return f"{file.name} (can't be used)"
    return f"{file.name} (on {', '.join(file.generators)})" if set(file.generators) < everyone else file.name
