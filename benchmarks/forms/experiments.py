"""Forms to start an experiment and to add a playbook."""

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _

from benchmarks.experiments.library import MOST_CHARACTERS
from benchmarks.experiments.start import MOST_MINUTES, MOST_REPEATS, ExperimentRequest
from benchmarks.forms.visible import VisibleChoices
from benchmarks.generators import registry
from core.accounts.access import Access
from pools.forms.record_choice import RecordChoiceField
from pools.models import Cluster

USUAL_MORE = 3  # blocks that one more look costs
QUICK, PUBLISHED = "quick", "published"


class MoreBlocksForm(forms.Form):
    """Form that asks for the number of blocks to add; a protected cluster asks for its name."""

    blocks = forms.IntegerField(label=_("Blocks"), min_value=1, max_value=MOST_REPEATS, initial=USUAL_MORE)
    confirm = forms.CharField(required=False)


class ExperimentForm(VisibleChoices):
    """Form that asks for the cluster, the poolers and the scale of a playbook."""

    cluster = RecordChoiceField("cluster", label=_("Cluster"), empty_label=None)
    pooler = RecordChoiceField(
        "pooler-for-experiments",
        label=_("Pooler"),
        required=False,
        empty_label=_("the first that fits"),
        help_text=_("Its pools are made there for the time of the experiment, and removed after it."),
    )
    scale = forms.ChoiceField(
        label=_("Size"),
        choices=[(QUICK, _("Quick: a few minutes")), (PUBLISHED, _("As published: hours"))],
        initial=QUICK,
    )
    repeats = forms.IntegerField(
        label=_("Blocks"),
        required=False,
        min_value=1,
        max_value=MOST_REPEATS,
        help_text=_("Each block measures every arm once; empty: the playbook's own number or time."),
    )
    minutes = forms.IntegerField(
        label=_("Time budget, in minutes"),
        required=False,
        min_value=1,
        max_value=MOST_MINUTES,
        help_text=_("Sequential mode: blocks go on until the intervals are narrow enough or this time is spent."),
    )
    generators = forms.ChoiceField(
        label=_("Generator"),
        required=False,
        help_text=_("It sends the load. An arm called “same host” is one only if this is the pooler's host."),
    )
    confirm = forms.CharField(
        label=_("Name of the protected cluster"),
        required=False,
        help_text=_("Type it to agree to the changes below; not asked for on an unprotected cluster."),
    )

    def __init__(self, *args: object, access: Access, **kwargs: object) -> None:
        super().__init__(*args, access=access, **kwargs)
        known = [one for one in registry.known_or_remembered()[0] if one.alive is not False]
        names = [(one.name, f"{one.name} ({one.host})" if one.host else one.name) for one in known]
        self.fields["generators"].choices = [("", _("any free one")), *names]  # type: ignore[attr-defined]
        if len(known) < 2:
            del self.fields["generators"]
        if not access.visible(Cluster.objects.all()).filter(protected=True).exists():
            del self.fields["confirm"]

    def request(self, playbook: str, author: User, *, is_admin: bool) -> ExperimentRequest:
        """Return the request to carry the playbook out.

        Raises `PermissionDenied` for a cluster or pooler that the user may see and not experiment on.
        """
        cleaned = self.cleaned_data
        for record in filter(None, (cleaned["cluster"], cleaned["pooler"])):
            self.access.require("experiment.start", record)
        return ExperimentRequest(
            playbook=playbook,
            cluster=cleaned["cluster"],
            author=author,
            access=self.access,
            is_admin=is_admin,
            pooler=cleaned["pooler"],
            generators=list(filter(None, [cleaned.get("generators")])),
            quick=cleaned["scale"] == QUICK,
            repeats=cleaned["repeats"],
            minutes=cleaned["minutes"],
            confirm=cleaned.get("confirm", ""),
        )


class PlaybookForm(forms.Form):
    """A playbook as a file or as text."""

    toml = forms.CharField(
        label=_("Playbook (TOML)"),
        required=False,
        strip=False,
        max_length=MOST_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "false", "class": "pd-code-input"}),
    )
    file = forms.FileField(label=_("Or upload a file"), required=False)

    def text(self) -> str:
        """Return the text; that of the file where one was uploaded. Browsers send a text's lines with CR LF."""
        uploaded = self.cleaned_data.get("file")
        text: str = uploaded.read().decode(errors="replace") if uploaded else self.cleaned_data["toml"]
        return text.replace("\r\n", "\n")
