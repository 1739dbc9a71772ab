"""The forms of settings profiles: the editor, the wizard, and the choice of one for a run."""

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from benchmarks.forms.visible import VisibleChoices
from benchmarks.library.settings_profiles.parsing import WrongLines, parse, written
from benchmarks.library.settings_profiles.suggestion import DISKS
from benchmarks.models import SettingsProfile
from core.accounts.access import Access
from pools.forms.base import PanelForm
from pools.forms.record_choice import RecordChoiceField

CONNECTIONS = 100  # PostgreSQL's own default


class ProfileForm(PanelForm):
    """A profile; its settings are typed one per line, `cleaned_data["values"]` maps name to value."""

    name = forms.CharField(label=_("Name"), max_length=100)
    description = forms.CharField(label=_("What it is for"), max_length=500, required=False)
    values = forms.CharField(
        label=_("Settings"),
        strip=False,
        help_text=_("Write one setting on each line, as in postgresql.conf: work_mem = 16MB."),
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "class": "run-paste", "wrap": "off"}),
    )

    def clean_values(self) -> dict[str, str]:
        try:
            return parse(self.cleaned_data["values"])
        except WrongLines as error:
            text = gettext("line %(number)s: %(fault)s")
            faults = [text % {"number": number, "fault": fault} for number, fault in error.faults.items()]
            raise forms.ValidationError(faults) from None


class ProposalForm(VisibleChoices, PanelForm):
    """The machine that a profile is proposed for; a chosen cluster fills in what the panel knows of its machine."""

    cluster = RecordChoiceField(
        "cluster",
        label=_("Cluster"),
        required=False,
        empty_label=_("any machine"),
        help_text=_("The panel fills the fields that you leave empty with what it knows of the cluster's machine."),
    )
    memory_mb = forms.IntegerField(label=_("Memory"), min_value=128, max_value=64 * 1024 * 1024)
    cpus = forms.IntegerField(label=_("CPUs"), min_value=1, max_value=4096)
    disk = forms.ChoiceField(label=_("Disk"), choices=list(DISKS.items()))
    max_connections = forms.IntegerField(
        label=_("Connections"),
        min_value=1,
        max_value=262_143,
        help_text=format_lazy(
            _("An empty field means max_connections of the cluster, or {default} without one."), default=CONNECTIONS
        ),
    )


def initial_of(profile: SettingsProfile) -> dict[str, str]:
    """Return the form's values of an existing profile."""
    return {"name": profile.name, "description": profile.description, "values": written(profile.values)}


def offer_profiles(form: forms.Form, access: Access) -> None:
    """Offer the profiles that the user may see for the run option `settings_profile`.

    A chosen one that was deleted stays listed.
    """
    typed = str(form["settings_profile"].value() or "")
    names = list(access.visible(SettingsProfile.objects.all()).values_list("name", flat=True))
    offered = [*names, typed] if typed and typed not in names else names
    choices = [("", _("none: the server as it is")), *((name, name) for name in offered)]
    form.fields["settings_profile"].widget = forms.Select(choices=choices)
