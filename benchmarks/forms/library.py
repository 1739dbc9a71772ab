"""The forms of the script library: a script's editor, and the target of its dry run."""

from django import forms
from django.utils.translation import gettext_lazy as _

from benchmarks.engines.script_text import PROTOCOLS
from benchmarks.forms.script_fields import lines_field, read, script_text_field
from benchmarks.forms.visible import VisibleChoices
from benchmarks.library.scripts.library import DESCRIPTION_CHARACTERS
from benchmarks.models.scripts import NAME_CHARACTERS
from benchmarks.targets.resolve import RequestedTarget
from core.accounts.access import Access
from pools.forms.base import PanelForm
from pools.forms.record_choice import RecordChoiceField
from pools.models import Pool, PoolState


class ScriptForm(PanelForm):
    """A script's name, description and text; the library checks them when it saves."""

    name = forms.CharField(
        label=_("Name"),
        max_length=NAME_CHARACTERS,
        help_text=_("Shown in the forms of runs"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    description = forms.CharField(label=_("Description"), max_length=DESCRIPTION_CHARACTERS, required=False)
    text = script_text_field(
        _("Script"),
        _("SQL, and pgbench's commands such as \\set, \\sleep, \\if and \\gset; none that starts a program"),
    )


class DryRunForm(VisibleChoices, PanelForm):
    """The target of a dry run: a pool, or a database of a cluster; with a role and the script's variables."""

    pool = RecordChoiceField("pool", label=_("Pool"), required=False, empty_label=_("Choose…"))
    cluster = RecordChoiceField("cluster", label=_("Cluster, without a pool"), required=False, empty_label=_("Choose…"))
    database = forms.CharField(label=_("Database of the cluster"), max_length=63, required=False)
    user = forms.CharField(
        label=_("Role"),
        max_length=63,
        required=False,
        help_text=_("Must not be a superuser; empty: the pool's user"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    variables = lines_field(_("Variables"), _("One per line: rows = 10, or city = 'Oslo'"))
    protocol = forms.ChoiceField(
        label=_("Protocol"),
        choices=[(name, name) for name in PROTOCOLS],
        required=False,
        help_text=_("Text values of more than one plain word need extended or prepared"),
    )
    confirm = forms.CharField(
        label=_("Type the database's name to allow this"),
        required=False,
        help_text=_("Required on a protected cluster, since a script may write"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: object, access: Access, **kwargs: object) -> None:
        super().__init__(*args, access=access, **kwargs)
        pools = access.visible(Pool.objects.wanted().of_people())
        self.initial.setdefault("pool", pools.filter(state=PoolState.APPLIED).values_list("pk", flat=True).first())

    def clean_variables(self) -> dict[str, int | float | str]:
        try:
            return read(self.cleaned_data["variables"])
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error

    def target(self) -> RequestedTarget:
        """Return the target as `submit` takes it."""
        chosen = self.cleaned_data
        if chosen["pool"]:
            return {"pool": str(chosen["pool"].pk), "user": chosen["user"]}
        cluster = str(chosen["cluster"].pk) if chosen["cluster"] else ""
        return {"cluster": cluster, "database": chosen["database"], "user": chosen["user"]}
