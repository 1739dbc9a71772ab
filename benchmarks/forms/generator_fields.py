"""Where a run is carried out from, in its form: the generators there are, and whether beside others."""

from typing import Any

from django import forms
from django.utils.functional import cached_property

from benchmarks.generators import registry
from benchmarks.generators.registry import Known
from benchmarks.models import Run
from benchmarks.runs.submission.submit import Placement


class Names(forms.MultipleChoiceField):
    """Names of generators, as they were ticked; whether there are such is the word of the verb."""

    def valid_value(self, value: Any) -> bool:
        """Any name is one."""
        return True


class WithGenerators(forms.Form):
    """A form that takes generators; `place` holds them once it is valid."""

    generators = Names(label="Generators", required=False)
    alongside = forms.BooleanField(
        label="Start although another run is on the target or the generator",
        required=False,
        help_text="Both then measure each other",
    )

    @property
    def place(self) -> Placement:
        """What the verb takes."""
        return Placement(self.cleaned_data["generators"], self.cleaned_data["alongside"])

    @cached_property
    def known_generators(self) -> list[tuple[Known, bool]]:
        """All that are known, each with whether it is ticked; a ticked one that is gone stays in sight."""
        ticked = {str(name) for name in self["generators"].value() or ()}
        found, _ = registry.known_or_remembered()
        return [(one, one.name in ticked) for one in found if one.alive is not False or one.name in ticked]

    @property
    def placing_is_open(self) -> bool:
        """Whether something was chosen, or is wrong."""
        return bool(self["generators"].value() or self["alongside"].value() or self["generators"].errors)


def initial_of(run: Run) -> dict[str, Any]:
    """The form's values of where a run was asked to be."""
    return {"generators": run.wanted_generators, "alongside": run.alongside}
