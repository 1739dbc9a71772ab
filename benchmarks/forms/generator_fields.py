"""The part of a run's form that chooses its generators, and whether it may overlap with other runs."""

from typing import Any

from django import forms
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from benchmarks.generators import registry
from benchmarks.generators.registry import Known
from benchmarks.models import Run
from benchmarks.runs.submission.submit import Placement


class Names(forms.MultipleChoiceField):
    """Names of generators as they were ticked; submission checks whether they exist."""

    def valid_value(self, value: Any) -> bool:
        return True


class WithGenerators(forms.Form):
    """A form with generators; `place` returns them once it is valid."""

    generators = Names(label=_("Generators"), required=False)
    alongside = forms.BooleanField(
        label=_("Start although another run is on the target or the generator"),
        required=False,
        help_text=_("The runs then distort each other's figures"),
    )

    @property
    def place(self) -> Placement:
        return Placement(self.cleaned_data["generators"], self.cleaned_data["alongside"])

    @cached_property
    def known_generators(self) -> list[tuple[Known, bool]]:
        """All live generators and the ticked ones, each with whether it is ticked."""
        ticked = {str(name) for name in self["generators"].value() or ()}
        found, _ = registry.known_or_remembered()
        return [(one, one.name in ticked) for one in found if one.alive is not False or one.name in ticked]

    @property
    def placing_is_open(self) -> bool:
        """Whether a value is set or invalid, so that the section is unfolded."""
        return bool(self["generators"].value() or self["alongside"].value() or self["generators"].errors)


def initial_of(run: Run) -> dict[str, Any]:
    """Return the form's values of a run's generators."""
    return {"generators": run.wanted_generators, "alongside": run.alongside}
