"""The form that asks what a pool should be: the question, the time to spend, and the load to judge by."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from benchmarks.experiments.advice import sweep
from benchmarks.experiments.report.advice import QUESTIONS
from benchmarks.experiments.start import MOST_MINUTES

WORKLOADS = ("tpcb-like", "simple-update", "select-only")
MOST_CLIENTS, MOST_SCALE = 1000, 1000


class AdviceForm(forms.Form):
    """What to ask of a pool."""

    question = forms.ChoiceField(label=_("Question"), choices=list(QUESTIONS.items()), initial=sweep.SIZE)
    builtin = forms.ChoiceField(
        label=_("Workload"),
        choices=[(name, name) for name in WORKLOADS],
        initial=sweep.DEFAULT_WORKLOAD["builtin"],
        help_text=_("A built-in script of pgbench; it runs on tables of its own, never on yours."),
    )
    clients = forms.IntegerField(
        label=_("Clients"),
        min_value=1,
        max_value=MOST_CLIENTS,
        initial=sweep.DEFAULT_CLIENTS,
        help_text=_(
            "How many use the pool at the busiest time. No larger size is tried. Fewer and more clients are measured "
            "too, as far as the minutes allow."
        ),
    )
    scale = forms.IntegerField(
        label=_("Scale of the tables"),
        min_value=1,
        max_value=MOST_SCALE,
        initial=sweep.DEFAULT_WORKLOAD["scale"],
        help_text=_("100,000 accounts each, about 16 MB."),
    )
    minutes = forms.IntegerField(
        label=_("Minutes to spend"),
        min_value=1,
        max_value=MOST_MINUTES,
        initial=5,
        help_text=_("The longer, the narrower the interval of the answer."),
    )
    confirm = forms.CharField(
        label=_("Name of the protected cluster"),
        required=False,
        help_text=_("Type it to agree to the changes; not asked for on an unprotected cluster."),
    )

    def request(self) -> dict[str, Any]:
        """Return the fields of `AdviceRequest` that the form asks for."""
        given = self.cleaned_data
        workload = {name: given[name] for name in ("builtin", "clients", "scale")}
        return {name: given[name] for name in ("question", "minutes", "confirm")} | {"workload": workload}
