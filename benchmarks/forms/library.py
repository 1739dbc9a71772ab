"""The forms of the library of scripts: a script's editor, and where to try it."""

from typing import Any

from django import forms

from benchmarks.engines.pgbench.option_catalog import PROTOCOLS
from benchmarks.engines.pgbench.scripts import NAME_CHARACTERS
from benchmarks.forms.runs import offer
from benchmarks.forms.script_fields import lines_field, read, script_text_field
from benchmarks.library.scripts.library import DESCRIPTION_CHARACTERS
from pools.forms.records import Typed
from pools.models import Cluster, Pool, PoolState


class ScriptForm(Typed):
    """A script's name, description and text; whether it may be kept is the library's word."""

    name = forms.CharField(
        label="Name",
        max_length=NAME_CHARACTERS,
        help_text="How the forms of runs call it",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    description = forms.CharField(label="Description", max_length=DESCRIPTION_CHARACTERS, required=False)
    text = script_text_field(
        "Script",
        "SQL, and \\set \\sleep \\if \\gset and their like of pgbench; a backslash anywhere else is refused",
    )


class DryRunForm(Typed):
    """A pool, or a database of a cluster, with a role and the variables that the script reads."""

    pool = forms.ModelChoiceField(Pool.objects.none(), label="Pool", required=False)
    cluster = forms.ModelChoiceField(Cluster.objects.none(), label="or a cluster", required=False)
    database = forms.CharField(label="and its database", max_length=63, required=False)
    user = forms.CharField(
        label="Role",
        max_length=63,
        required=False,
        help_text="One without superuser's rights; empty: the pool's user",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    variables = lines_field("Variables", "A line each: rows = 10, or city = 'Oslo'")
    protocol = forms.ChoiceField(
        label="Protocol",
        choices=[(name, name) for name in PROTOCOLS],
        required=False,
        help_text="Text of more than one plain word needs extended or prepared",
    )
    confirm = forms.CharField(
        label="Type the database's name to allow this",
        required=False,
        help_text="On a protected cluster, since a script may write",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        pools = Pool.objects.wanted().select_related("cluster", "pooler")
        self.initial.setdefault("pool", pools.filter(state=PoolState.APPLIED).values_list("pk", flat=True).first())
        offer(self, "pool", pools, lambda pool: f"{pool.name} → {pool.cluster}/{pool.database} ({pool.pooler})")
        offer(self, "cluster", Cluster.objects.all(), str)

    def clean_variables(self) -> dict[str, Any]:
        """Names with numbers or text."""
        try:
            return read(self.cleaned_data["variables"])
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error

    def target(self) -> dict[str, Any]:
        """What the verb takes as its target."""
        chosen = self.cleaned_data
        if chosen["pool"]:
            return {"pool": str(chosen["pool"].pk), "user": chosen["user"]}
        cluster = str(chosen["cluster"].pk) if chosen["cluster"] else ""
        return {"cluster": cluster, "database": chosen["database"], "user": chosen["user"]}
