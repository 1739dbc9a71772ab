"""The forms of settings profiles."""

from typing import Any

from django import forms

from benchmarks.library.settings_profiles.parsing import WrongLines, parse, written
from benchmarks.library.settings_profiles.suggestion import DISKS
from benchmarks.models import SettingsProfile
from pools.forms.records import Typed
from pools.models import Cluster

CONNECTIONS = 100  # PostgreSQL's own default


class ProfileForm(Typed):
    """A profile; its settings are typed one a line, and `cleaned_data["values"]` holds them by name."""

    name = forms.CharField(label="Name", max_length=100)
    description = forms.CharField(label="What it is for", max_length=500, required=False)
    values = forms.CharField(
        label="Settings",
        strip=False,
        help_text="One a line, as in postgresql.conf: work_mem = 16MB",
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "class": "run-paste", "wrap": "off"}),
    )

    def clean_values(self) -> dict[str, str]:
        """The settings by name, every wrong line told."""
        try:
            return parse(self.cleaned_data["values"])
        except WrongLines as error:
            raise forms.ValidationError([f"line {number}: {fault}" for number, fault in error.faults.items()]) from None


class ProposalForm(Typed):
    """The machine for which a profile is proposed; a cluster that was chosen fills in what the panel knows of it."""

    cluster = forms.ModelChoiceField(
        Cluster.objects.all(),
        label="Cluster",
        required=False,
        empty_label="any machine",
        help_text="Fills in what the panel knows of its machine where you leave a field empty",
    )
    memory_mb = forms.IntegerField(label="Memory", min_value=128, max_value=64 * 1024 * 1024)
    cpus = forms.IntegerField(label="CPUs", min_value=1, max_value=4096)
    disk = forms.ChoiceField(label="Disk", choices=list(DISKS.items()))
    max_connections = forms.IntegerField(
        label="Connections", min_value=1, max_value=262_143, help_text=f"Left empty: the cluster's, or {CONNECTIONS}"
    )


def initial_of(profile: SettingsProfile) -> dict[str, Any]:
    """The form's values of a profile as it stands."""
    return {"name": profile.name, "description": profile.description, "values": written(profile.values)}


def offer_profiles(form: forms.Form) -> None:
    """Let the option of a run be chosen from the profiles there are; one that is gone stays shown as it was typed."""
    typed = str(form["settings_profile"].value() or "")
    names = list(SettingsProfile.objects.values_list("name", flat=True))
    shown = [*names, typed] if typed and typed not in names else names
    choices = [("", "none: the server as it is"), *((name, name) for name in shown)]
    form.fields["settings_profile"].widget = forms.Select(choices=choices)
