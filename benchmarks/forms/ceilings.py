"""The form of a ceiling."""

from typing import Any

from django import forms

from benchmarks.models import Ceiling
from pools.models import Cluster

LIMITS = ("clients", "threads", "duration", "scale")


class CeilingForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable when it runs
    """Whom it holds for, where, and the most of each option; empty: no limit but the program's."""

    class Meta:
        model = Ceiling
        fields = ["cluster", "holder", *LIMITS]
        labels = {"cluster": "Cluster", "holder": "Holds for", "duration": "Duration, s"}
        help_texts = {
            "clients": "Idle connections and the concurrency of HTTP loads are held to it too",
            "threads": "Of the load program",
            "duration": "A warm-up is held to it by itself; counting transactions is refused",
            "scale": "Of datasets",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cluster: Any = self.fields["cluster"]
        cluster.queryset, cluster.empty_label = Cluster.objects.all(), "Every cluster"
        for name in LIMITS:
            self.fields[name].widget.attrs["min"] = 1
            self.fields[name].min_value = 1  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """A limit is at least 1, some limit is set, and each cluster and holder have one ceiling."""
        found: dict[str, Any] = super().clean() or {}
        for name, message in faults(found, self.instance):
            self.add_error(name, message)
        return found


def faults(values: dict[str, Any], itself: Ceiling) -> list[tuple[str | None, str]]:
    """(field or None, message) for what can't be a ceiling."""
    wrong: list[tuple[str | None, str]] = [
        (name, "0 lets nobody run: use 1 or more, or leave it empty") for name in LIMITS if values.get(name) == 0
    ]
    if all(values.get(name) is None for name in LIMITS):
        wrong.append((None, "no limit is set: give at least one of clients, threads, duration and scale"))
    same = Ceiling.objects.filter(cluster=values.get("cluster"), holder=values.get("holder")).exclude(pk=itself.pk)
    if (current := same.first()) is not None:
        wrong.append((None, f"there is a ceiling for {current} already: change that one"))
    return wrong
