"""The form that asks what a pool should be: the question, the time to spend, and the load to judge by."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from benchmarks.engines import engine, fields_of
from benchmarks.experiments.advice import sweep, workload
from benchmarks.experiments.advice.request import AdviceTerms
from benchmarks.experiments.report.advice import QUESTIONS
from benchmarks.experiments.start import MOST_MINUTES
from benchmarks.forms.script_fields import WithScripts
from benchmarks.models import Purpose, Run
from core.accounts.access import Access
from pools.forms.base import PanelForm
from pools.models import NodeRole, Pool

MOST_CLIENTS, MOST_SCALE = 1000, 1000
RUNS_READ, RUNS_SHOWN = 100, 10
OPTIONS = fields_of(workload.ENGINE)
VARIABLES_HELP = next((one.help for one in OPTIONS if one.name == "variables"), "")
OF_RUN = "run:"  # prefix of the id of the run whose scripts are used
TABLES = {
    workload.OWN: _("The sweep's own"),
    workload.EXISTING: _("The pool's database"),
}


class AdviceForm(WithScripts, PanelForm):
    """The question about a pool, its workload and the time for it."""

    option_fields = OPTIONS

    question = forms.ChoiceField(label=_("Question"), choices=list(QUESTIONS.items()), initial=sweep.SIZE)
    builtin = forms.CharField(
        label=_("Workload"),
        help_text=_(
            "A built-in script of pgbench, one of your library, the scripts of a run on this pool, or the queries that "
            "pg_stat_statements recorded of the pool's user."
        ),
    )
    scripts = forms.CharField(required=False)  # `WithScripts` replaces it with its rows.
    variables = forms.CharField(required=False, help_text=VARIABLES_HELP)
    tables = forms.ChoiceField(
        label=_("Tables to load"),
        choices=list(TABLES.items()),
        initial=workload.OWN,
        help_text=_(
            "The sweep makes pgbench's tables and removes them. Only scripts of your own can load the pool's database: "
            "what they write there stays. The recorded mix always reads the pool's database, and its "
            "scripts hold samples of the columns' values, which are encrypted and never shown."
        ),
    )
    clients = forms.IntegerField(
        label=_("Clients"),
        min_value=1,
        max_value=MOST_CLIENTS,
        initial=workload.DEFAULT_CLIENTS,
        help_text=_(
            "How many use the pool at the busiest time. No larger size is tried. Fewer and more clients are measured "
            "too, as far as the minutes allow."
        ),
    )
    scale = forms.IntegerField(
        label=_("Scale of the tables"),
        min_value=1,
        max_value=MOST_SCALE,
        initial=workload.DEFAULT_SCALE,
        help_text=_("100,000 accounts each, about 16 MB. Your scripts read it as :scale."),
    )
    minutes = forms.IntegerField(
        label=_("Time budget, in minutes"),
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

    def __init__(self, *args: object, pool: Pool, access: Access, **kwargs: object) -> None:
        super().__init__(*args, access=access, **kwargs)
        chosen: Any = self.fields["builtin"]
        chosen.initial, chosen.required = workload.DEFAULT_BUILTIN, True
        if runs := _runs_of(access.visible(Run.objects.filter(pool=pool))):
            chosen.choices = [*chosen.choices, (_now("As in a run on this pool"), runs)]
        if not pool.user or pool.target != NodeRole.PRIMARY:
            del self.fields["tables"]
        else:
            recorded = (workload.RECORDED, _now("the recorded mix"))
            chosen.choices = [*chosen.choices, (_now("As clients of this pool"), [recorded])]

    def clean(self) -> dict[str, object]:
        self.cleaned_data["workload"] = self._workload()
        return self.cleaned_data

    def _workload(self) -> dict[str, object]:
        """Return the load as `workload.read` takes it."""
        typed = self.typed_scripts()
        alone = (typed["builtin"] or [""])[0]
        load: dict[str, object] = {**typed}
        if alone.startswith(OF_RUN):
            load = {"run": alone.removeprefix(OF_RUN)}
        given = {name: self.cleaned_data.get(name) for name in ("clients", "scale", "tables")}
        if alone == workload.RECORDED:
            load, given = {workload.RECORDED: True}, {"clients": given["clients"]}
        return {name: value for name, value in (load | given).items() if value not in (None, "")}

    def request(self) -> AdviceTerms:
        """Return the fields of `AdviceRequest` that the form asks for."""
        cleaned = self.cleaned_data
        return {
            "question": cleaned["question"],
            "minutes": cleaned["minutes"],
            "confirm": cleaned["confirm"],
            "workload": cleaned["workload"],
        }


def _runs_of(runs: QuerySet[Run]) -> list[tuple[str, str]]:
    """Return the loads of the latest runs of a pool as choices, each combination of scripts once."""
    runs = runs.filter(purpose=Purpose.LOAD, engine=workload.ENGINE).order_by("-number")
    text, found = _now("run %(number)s: %(scripts)s"), dict[str, tuple[str, str]]()
    for run in runs.only("number", "options")[:RUNS_READ]:
        if words := engine(workload.ENGINE).scripts_in_words(run.options):
            found.setdefault(words, (f"{OF_RUN}{run.pk}", text % {"number": run.number, "scripts": words}))
    return list(found.values())[:RUNS_SHOWN]
