"""The thresholds of a run in its form: one field for each figure that usually is one."""

from typing import Any

from django import forms
from django.forms import BoundField

from benchmarks.judging import gates
from benchmarks.judging.gates import GAUGES

OFFERED = ("tps", "latency_p95_ms", "failed_percent", "lag_avg_ms")
PREFIX = "threshold_"
WORDS = {gates.AT_LEAST: "at least", gates.AT_MOST: "at most"}


def _field(metric: str) -> forms.FloatField:
    gauge = GAUGES[metric]
    widget = forms.NumberInput(attrs={"step": "any", "min": "0"})
    return forms.FloatField(
        label=f"{gauge.label} {WORDS[gauge.usual]}", required=False, min_value=0, max_value=1e14, widget=widget
    )


class WithThresholds(forms.Form):
    """A form that takes thresholds; `thresholds` holds them once it is valid."""

    threshold_tps = _field("tps")
    threshold_latency_p95_ms = _field("latency_p95_ms")
    threshold_failed_percent = _field("failed_percent")
    threshold_lag_avg_ms = _field("lag_avg_ms")

    @property
    def thresholds(self) -> list[dict[str, Any]]:
        """Those that were filled in."""
        given = {metric: self.cleaned_data.get(PREFIX + metric) for metric in OFFERED}
        return [{"metric": metric, GAUGES[metric].usual: limit} for metric, limit in given.items() if limit is not None]

    @property
    def threshold_fields(self) -> list[tuple[BoundField, str]]:
        """Each field with its unit."""
        return [(self[PREFIX + metric], GAUGES[metric].unit) for metric in OFFERED]


def initial_of(thresholds: list[dict[str, Any]]) -> dict[str, Any]:
    """The form's values of the thresholds that a run had."""
    return {
        PREFIX + one["metric"]: one[GAUGES[one["metric"]].usual]
        for one in thresholds
        if one["metric"] in OFFERED and GAUGES[one["metric"]].usual in one
    }
