"""The sections of a run's form beside its options: generators, a file of their hosts, thresholds, a sweep."""

from django import forms
from django.forms import BoundField
from django.utils.functional import cached_property
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from benchmarks.engines.base import Field
from benchmarks.errors import InvalidSweep
from benchmarks.generators import host_files, registry, selection
from benchmarks.generators.host_files import FileChoice
from benchmarks.generators.registry import GeneratorStatus
from benchmarks.models import Run
from benchmarks.models.metrics import AT_LEAST, AT_MOST, THRESHOLDS
from benchmarks.models.thresholds import LONGEST_ABORT_S, SHORTEST_ABORT_S, Threshold
from benchmarks.runs.submission import sweep
from benchmarks.runs.submission.submit import Placement
from pools.forms.base import PanelForm

HOST_FILE = "host_file"
NO_FILE_YET = _("No file found yet: put one into the folder of a generator, and reload this page.")
USUAL_THRESHOLDS = ("tps", "latency_p95_ms", "failed_percent", "lag_avg_ms")
THRESHOLD_PREFIX = "threshold_"
BOUND_LABELS = {AT_LEAST: _("{figure} at least"), AT_MOST: _("{figure} at most")}


class _CheckboxesField(forms.MultipleChoiceField):
    """Names of generators as they were ticked; submission checks whether they exist."""

    def valid_value(self, value: object) -> bool:
        return True


class WithStatuses(forms.Form):
    """A form whose parts ask for the generators, which are read once for all of them."""

    @cached_property
    def statuses(self) -> tuple[list[GeneratorStatus], str]:
        """Every generator, and why it is unknown which are alive (empty: it is known)."""
        return registry.known_or_remembered()


class WithGenerators(WithStatuses):
    """A form with generators; `place` returns them once it is valid."""

    generators = _CheckboxesField(label=_("Generators"), required=False)
    alongside = forms.BooleanField(
        label=_("Start although another run is on the target or the generator"),
        required=False,
        help_text=_("The runs then distort each other's figures"),
    )

    @property
    def place(self) -> Placement:
        return Placement(self.cleaned_data["generators"], self.cleaned_data["alongside"])

    @cached_property
    def known_generators(self) -> list[tuple[GeneratorStatus, bool]]:
        """All live generators and the ticked ones, each with whether it is ticked."""
        ticked = {str(name) for name in self["generators"].value() or ()}
        found, _unknown = self.statuses
        return [(one, one.name in ticked) for one in found if one.alive is not False or one.name in ticked]

    @property
    def placing_is_open(self) -> bool:
        """True if a value is set or invalid, so that the section is unfolded."""
        return bool(self["generators"].value() or self["alongside"].value() or self["generators"].errors)


def placement_of(run: Run) -> dict[str, object]:
    """Return the form's values of a run's generators."""
    return {"generators": run.wanted_generators, "alongside": run.alongside}


class _Chosen(forms.ChoiceField):
    """A file name as it was chosen; submission checks whether the generators have it."""

    def valid_value(self, value: object) -> bool:
        return True


class WithHostFile(PanelForm):
    """A form that offers the files of the ticked generators, or of all live ones if none is ticked."""

    option_fields: tuple[Field, ...]
    engine_name: str

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        for option in self.option_fields:
            if option.kind == HOST_FILE:
                self.fields[option.name] = self._field_of(option)

    def _field_of(self, option: Field) -> forms.ChoiceField:
        # reading a bound field would cache it before it is replaced
        values = self.data if self.is_bound else self.initial
        files = self._files(str(values.get(option.name) or ""))
        return _Chosen(
            label=option.label,
            help_text=option.help if files else format_lazy("{} {}", NO_FILE_YET, option.help),
            required=False,
            choices=[("", _("Choose…")), *files],
        )

    def _files(self, chosen: str) -> list[tuple[str, str]]:
        """Return (name, label) of each file and the `chosen` one; labels name the generators if others lack it."""
        offered = host_files.offered(self.engine_name, self["generators"].value() or ())
        everyone = {name for one in offered for name in one.generators}
        labels = {one.name: _shown(one, everyone) for one in offered}
        return list((labels | ({chosen: chosen} if chosen and chosen not in labels else {})).items())


def _shown(file: FileChoice, everyone: set[str]) -> str:
    if file.fault:
        return gettext("%(file)s (can't be used)") % {"file": file.name}
    if set(file.generators) < everyone:
        return gettext("%(file)s (on %(generators)s)") % {
            "file": file.name,
            "generators": selection.few(file.generators),
        }
    return file.name


def _threshold_field(metric: str, bound: str = "") -> forms.FloatField:
    judged = THRESHOLDS[metric]
    widget = forms.NumberInput(attrs={"step": "any", "min": "0"})
    label = format_lazy(BOUND_LABELS[bound or judged.threshold], figure=judged.label)
    return forms.FloatField(label=label, required=False, min_value=0, max_value=1e14, widget=widget)


def _threshold_name(metric: str, bound: str) -> str:
    usual = metric in USUAL_THRESHOLDS and bound == THRESHOLDS[metric].threshold
    return THRESHOLD_PREFIX + metric if usual else f"{THRESHOLD_PREFIX}{metric}_{bound}"


THRESHOLDS_BY_NAME = {
    _threshold_name(metric, bound): (metric, bound)
    for metric in (*USUAL_THRESHOLDS, *THRESHOLDS)
    for bound in BOUND_LABELS
}


class WithThresholds(PanelForm):
    """A form with thresholds; `thresholds` returns them once it is valid."""

    threshold_tps = _threshold_field("tps")
    threshold_latency_p95_ms = _threshold_field("latency_p95_ms")
    threshold_failed_percent = _threshold_field("failed_percent")
    threshold_lag_avg_ms = _threshold_field("lag_avg_ms")
    abort_after_s = forms.FloatField(
        label=_("End the run early"),
        required=False,
        min_value=SHORTEST_ABORT_S,
        max_value=LONGEST_ABORT_S,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text=_("Once a threshold has been missed for so many seconds without a break. Empty: never."),
    )

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        values = self.data if self.is_bound else self.initial
        for name, (metric, bound) in THRESHOLDS_BY_NAME.items():
            if name in values and name not in self.fields:
                self.fields[name] = _threshold_field(metric, bound)

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or self.cleaned_data
        if cleaned.get("abort_after_s") is not None and not self.thresholds:
            self.add_error("abort_after_s", gettext("nothing ends the run without a threshold: give one"))
        return cleaned

    @property
    def thresholds(self) -> list[Threshold]:
        thresholds = (
            (THRESHOLDS_BY_NAME[name], self.cleaned_data.get(name))
            for name in THRESHOLDS_BY_NAME
            if name in self.fields
        )
        abort = self.cleaned_data.get("abort_after_s")
        return [_threshold(metric, bound, limit, abort) for (metric, bound), limit in thresholds if limit is not None]

    @property
    def threshold_fields(self) -> list[tuple[BoundField, str]]:
        return [
            (self[name], THRESHOLDS[metric].unit)
            for name, (metric, _) in THRESHOLDS_BY_NAME.items()
            if name in self.fields
        ]

    @property
    def thresholds_are_open(self) -> bool:
        """True if a threshold is set or invalid, so that the section is unfolded."""
        fields = [*(field for field, _unit in self.threshold_fields), self["abort_after_s"]]
        return any(field.value() not in (None, "") or field.errors for field in fields)


def _threshold(metric: str, bound: str, limit: float, abort_after_s: float | None) -> Threshold:
    found: Threshold = (
        {"metric": metric, "at_least": limit} if bound == AT_LEAST else {"metric": metric, "at_most": limit}
    )
    return found if abort_after_s is None else {**found, "abort_after_s": abort_after_s}


def limits_of(thresholds: list[Threshold]) -> dict[str, float]:
    """Return the form's values of a run's thresholds."""
    limits = {}
    for one in thresholds:
        if one["metric"] in THRESHOLDS and "at_least" in one:
            limits[_threshold_name(one["metric"], AT_LEAST)] = one["at_least"]
        if one["metric"] in THRESHOLDS and "at_most" in one:
            limits[_threshold_name(one["metric"], AT_MOST)] = one["at_most"]
        if "abort_after_s" in one:  # the form has one for all
            limits["abort_after_s"] = one["abort_after_s"]
    return limits


class WithSweep(forms.Form):
    """A form with a sweep over clients, in whose order the runs are started."""

    sweep_clients = forms.CharField(
        label=_("Sweep over clients"),
        max_length=120,
        required=False,
        help_text=_("Such as 1, 2, 4, 8, 16: runs with each in place of the number below, compared in a chart"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def clean_sweep_clients(self) -> list[int]:
        try:
            return sweep.read(self.cleaned_data["sweep_clients"])
        except InvalidSweep as error:
            raise forms.ValidationError(error.errors["sweep_clients"]) from None

    @property
    def steps(self) -> list[int]:
        """The numbers of clients of the sweep; none without one, and while they are invalid."""
        return self.cleaned_data.get("sweep_clients") or []

    @property
    def steps_shown(self) -> str:
        """The numbers of clients as a list for people."""
        return ", ".join(f"{number:,}" for number in self.steps)

    def most_clients(self, engine: str) -> dict[str, int]:
        """Return the most clients under the name that the engine has for them; nothing without a sweep."""
        counted = sweep.counted_by(engine)
        return {counted: max(self.steps)} if counted and self.steps else {}
