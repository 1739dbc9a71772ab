"""Form of all event thresholds: one row of fields per event kind."""

from collections.abc import Iterator
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from pools.errors import InvalidValues
from pools.models import EventKind
from pools.monitoring import thresholds
from pools.monitoring.hysteresis import Rule
from pools.monitoring.thresholds import Bound, Watch


class ThresholdsForm(forms.Form):
    """Form that asks of each event kind whether it is monitored, for its bounds, and how long they must hold."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.bounds = thresholds.bounds()
        for kind, bound in self.bounds.items():
            self.fields |= _fields(kind, bound)

    def rows(self) -> Iterator[dict[str, object]]:
        """Yield the fields of each kind, with its `watch` and `title`."""
        for kind, bound in self.bounds.items():
            names = ("enabled", "opens_at", "closes_at", "for_s")
            found = {name: self[f"{kind}_{name}"] for name in names if f"{kind}_{name}" in self.fields}
            yield {"watch": bound.watch, "title": EventKind(kind).label, **found}

    def rules(self) -> dict[EventKind, tuple[Rule, bool]]:
        """Return the typed rule of each kind and whether it is enabled; call it after `is_valid()`."""
        return {kind: self._rule(kind, bound.watch) for kind, bound in self.bounds.items()}

    def blame(self, error: InvalidValues) -> None:
        """Add the messages of each kind to its closing bound, or to its duration where it has no bounds."""
        for kind, found in error.errors.items():
            for message in found:
                self.add_error(f"{kind}_closes_at" if f"{kind}_closes_at" in self.fields else f"{kind}_for_s", message)

    def _rule(self, kind: EventKind, watch: Watch) -> tuple[Rule, bool]:
        typed = self.cleaned_data
        opens_at = typed.get(f"{kind}_opens_at", watch.rule.opens_at)
        closes_at = typed.get(f"{kind}_closes_at", watch.rule.closes_at)
        return watch.rule.changed(opens_at, closes_at, typed[f"{kind}_for_s"]), typed[f"{kind}_enabled"]


def _fields(kind: EventKind, bound: Bound) -> dict[str, forms.Field]:
    named, rule = {"event": kind.label}, bound.rule
    found: dict[str, forms.Field] = {
        "enabled": forms.BooleanField(required=False, initial=bound.enabled, label=_("Monitor: %(event)s") % named)
    }
    if bound.watch.counts:
        closes = _("%(event)s: closes above") if rule.falls else _("%(event)s: closes below")
        opens, closes = _("%(event)s: opens at") % named, closes % named
        found["opens_at"] = forms.FloatField(initial=f"{rule.opens_at:g}", label=opens)
        found["closes_at"] = forms.FloatField(initial=f"{rule.closes_at:g}", label=closes)
    duration = _("%(event)s: duration in seconds") % named
    found["for_s"] = forms.IntegerField(
        initial=int(rule.for_s), min_value=0, max_value=thresholds.MOST_S, label=duration
    )
    return {f"{kind}_{name}": field for name, field in found.items()}
