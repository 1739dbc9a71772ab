"""The form that asks what size an entry should have: the login to measure by, the load, and the time to spend."""

from django import forms
from django.utils.translation import gettext_lazy as _

from benchmarks.experiments.advice.request import AdviceTerms
from benchmarks.experiments.start import MOST_MINUTES
from benchmarks.forms.advice import MOST_CLIENTS
from pools.forms.entries import EntryLoginForm

READS, WRITES = "select-only", "simple-update"
BUILTINS = {READS: _("select-only: reads pgbench's tables"), WRITES: _("simple-update: writes them, too")}


class EntryAdviceForm(EntryLoginForm):
    """A login that the pooler lets in, and a load of tables that exist."""

    builtin = forms.ChoiceField(
        label=_("Workload"),
        choices=list(BUILTINS.items()),
        initial=READS,
        required=False,
        help_text=_("A built-in script of pgbench needs pgbench's tables in the database of the entry"),
    )
    script = forms.CharField(
        label=_("Script of your own"),
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        required=False,
        strip=False,
        help_text=_("One transaction of your application, in place of the built-in script; what it writes stays"),
    )
    clients = forms.IntegerField(
        label=_("Clients"),
        min_value=2,
        max_value=MOST_CLIENTS,
        initial=32,
        help_text=_("How many use the entry at the busiest time: no larger size is tried"),
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
        help_text=_("Type it to agree to the load; not asked for on an unprotected cluster."),
    )

    def login(self) -> dict[str, str]:
        """Return the login as `benchmarks.targets.entries.endpoint_of` takes it."""
        return {name: self.cleaned_data[name] for name in ("user", "password", "database") if name in self.cleaned_data}

    def request(self) -> AdviceTerms:
        """Return the fields of `AdviceRequest` that the form asks for."""
        script = self.cleaned_data["script"]
        own = {"scripts": [{"text": script, "weight": 1}]}
        load = own if script.strip() else {"builtin": self.cleaned_data["builtin"] or READS}
        return {
            "workload": {**load, "clients": self.cleaned_data["clients"]},
            "minutes": self.cleaned_data["minutes"],
            "confirm": self.cleaned_data["confirm"],
        }
