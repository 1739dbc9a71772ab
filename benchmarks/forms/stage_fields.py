"""The part of a run's form that gives its load stages: a list of lines, or a usual shape that fills it."""

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext_lazy as _

from benchmarks.engines import load_shapes, stage_lines
from benchmarks.engines.base import Field
from benchmarks.engines.load_shapes import Shape
from pools.forms.base import PanelForm

LONGEST_NUMBER = 9  # digits of clients and seconds


class WithStages(PanelForm):
    """A form with the option `stages`, where its engine has it, and the shape whose stages it has while it is empty."""

    option_fields: tuple[Field, ...]

    shape = forms.ChoiceField(
        label=_("Shape"),
        choices=Shape.choices,
        required=False,
        help_text=_("Fills the stages from the clients and the duration above; you can then edit them"),
    )

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        if not self.has_stages:
            del self.fields["shape"]

    @property
    def has_stages(self) -> bool:
        """True if the engine's loads may have stages."""
        return "stages" in self.fields

    @property
    def stages_are_open(self) -> bool:
        """True if a stage or a shape is given or invalid, so that the section is unfolded."""
        fields = [self[name] for name in ("stages", "shape")] if self.has_stages else []
        return any(field.value() or field.errors for field in fields)

    def filled_stages(self) -> BoundField:
        """Return the field of stages with those of the chosen shape in it, whatever was there before."""
        self.data = {**self.data, "stages": self._of_shape()}
        self.errors.pop("stages", None)
        return self["stages"]

    def typed_stages(self, typed: dict[str, object]) -> dict[str, object]:
        """Return raw options with the typed stages or those of the chosen shape, in place of clients and duration."""
        stages = typed.get("stages") or self._of_shape()
        return {**typed, "stages": stages, "clients": None, "duration": None} if stages else typed

    def _of_shape(self) -> str:
        """Return the lines of the chosen shape; empty without one, and while clients or duration are no numbers."""
        chosen = getattr(self, "cleaned_data", {})
        clients, duration_s = (str(chosen.get(name) or "") for name in ("clients", "duration"))
        if not all(text.isdecimal() and len(text) <= LONGEST_NUMBER for text in (clients, duration_s)):
            return ""
        return stage_lines.written(load_shapes.stages_of(chosen.get("shape", ""), int(clients), int(duration_s)))
