"""The form of a ceiling, and the rules for its values."""

from typing import Any, TypedDict, cast

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from benchmarks.models import Ceiling
from pools.models import Cluster

LIMITS = ("clients", "threads", "duration", "scale")


class CeilingColumns(TypedDict, total=False):
    """The columns of a ceiling, once each is validated."""

    cluster: Cluster | None
    holder: str
    clients: int | None
    threads: int | None
    duration: int | None
    scale: int | None


class CeilingForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable when it runs
    """A ceiling: its cluster, whom it holds for, and the limit of each option; empty: only the program's own limit."""

    class Meta:
        model = Ceiling
        fields = ["cluster", "holder", *LIMITS]
        labels = {"cluster": _("Cluster"), "holder": _("Applies to"), "duration": _("Duration, s")}
        help_texts = {
            "clients": _("Also limits idle connections and the concurrency of HTTP loads"),
            "threads": _("Limits the threads of the load program"),
            "duration": _("A warm-up is limited separately; runs that count transactions are refused"),
            "scale": _("Limits the scale of datasets"),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Django's own, passed on
        super().__init__(*args, **kwargs)
        cluster: Any = self.fields["cluster"]
        cluster.queryset, cluster.empty_label = Cluster.objects.all(), _("Every cluster")
        for name in LIMITS:
            self.fields[name].widget.attrs["min"] = 1
            self.fields[name].min_value = 1  # type: ignore[attr-defined]

    def clean(self) -> dict[str, object]:
        super().clean()
        for name, message in faults(cast("CeilingColumns", self.cleaned_data), self.instance):
            self.add_error(name, message)
        return self.cleaned_data


def faults(values: CeilingColumns, itself: Ceiling) -> list[tuple[str | None, str]]:
    """Return (field or None, message) of each reason why the values can't be saved."""
    wrong: list[tuple[str | None, str]] = [
        (name, gettext("0 would allow no run: use 1 or more, or leave it empty"))
        for name in LIMITS
        if values.get(name) == 0
    ]
    if all(values.get(name) is None for name in LIMITS):
        wrong.append((None, gettext("no limit is set: give at least one of clients, threads, duration and scale")))
    same = Ceiling.objects.filter(cluster=values.get("cluster"), holder=values.get("holder")).exclude(pk=itself.pk)
    if (current := same.first()) is not None:
        text = gettext("there is a run limit for %(ceiling)s already: change that one")
        wrong.append((None, text % {"ceiling": current}))
    return wrong
