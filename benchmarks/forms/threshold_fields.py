"""The part of a run's form with its thresholds: the usual ones, and all that a cloned run has."""

from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from benchmarks.models.metrics import AT_LEAST, AT_MOST, THRESHOLDS

OFFERED = ("tps", "latency_p95_ms", "failed_percent", "lag_avg_ms")
PREFIX = "threshold_"
LABELS = {AT_LEAST: _("{figure} at least"), AT_MOST: _("{figure} at most")}


def _field(metric: str, bound: str = "") -> forms.FloatField:
    judged = THRESHOLDS[metric]
    widget = forms.NumberInput(attrs={"step": "any", "min": "0"})
    label = format_lazy(LABELS[bound or judged.threshold], figure=judged.label)
    return forms.FloatField(label=label, required=False, min_value=0, max_value=1e14, widget=widget)


def _name(metric: str, bound: str) -> str:
    usual = metric in OFFERED and bound == THRESHOLDS[metric].threshold
    return PREFIX + metric if usual else f"{PREFIX}{metric}_{bound}"


BY_NAME = {_name(metric, bound): (metric, bound) for metric in (*OFFERED, *THRESHOLDS) for bound in LABELS}


class WithThresholds(forms.Form):
    """A form with thresholds; `thresholds` returns them once it is valid."""

    threshold_tps = _field("tps")
    threshold_latency_p95_ms = _field("latency_p95_ms")
    threshold_failed_percent = _field("failed_percent")
    threshold_lag_avg_ms = _field("lag_avg_ms")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        given = self.data if self.is_bound else self.initial
        for name, (metric, bound) in BY_NAME.items():
            if name in given and name not in self.fields:
                self.fields[name] = _field(metric, bound)

    @property
    def thresholds(self) -> list[dict[str, Any]]:
        given = ((BY_NAME[name], self.cleaned_data.get(name)) for name in BY_NAME if name in self.fields)
        return [{"metric": metric, bound: limit} for (metric, bound), limit in given if limit is not None]

    @property
    def threshold_fields(self) -> list[tuple[BoundField, str]]:
        return [(self[name], THRESHOLDS[metric].unit) for name, (metric, _) in BY_NAME.items() if name in self.fields]

    @property
    def thresholds_are_open(self) -> bool:
        """Whether a threshold is set or invalid, so that the section is unfolded."""
        return any(field.value() not in (None, "") or field.errors for field, _ in self.threshold_fields)


def initial_of(thresholds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the form's values of a run's thresholds."""
    return {
        _name(one["metric"], bound): one[bound]
        for one in thresholds
        for bound in LABELS
        if bound in one and one["metric"] in THRESHOLDS
    }
