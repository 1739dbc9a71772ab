"""Forms that ask for the arguments of a console verb before it is sent."""

from django import forms
from django.utils.translation import gettext_lazy as _

from pools.console.commands import DEADLINE_S, HOLD_S, LONGEST_DEADLINE_S, LONGEST_HOLD_S


class VerbForm(forms.Form):
    """Form of a verb without arguments."""

    def values(self) -> dict[str, object]:
        """Return the keyword arguments of the verb."""
        return dict(self.cleaned_data)


class PauseForm(VerbForm):
    """Deadline and length of a PAUSE, in seconds."""

    deadline_s = forms.IntegerField(
        label=_("Wait at most"),
        min_value=1,
        max_value=LONGEST_DEADLINE_S,
        initial=DEADLINE_S,
        help_text=_(
            "Until running transactions end. After that, the pause is canceled and the blocking clients are listed."
        ),
    )
    hold_s = forms.IntegerField(
        label=_("Hold at most"),
        min_value=1,
        max_value=LONGEST_HOLD_S,
        initial=HOLD_S,
        help_text=_("Then the pool resumes automatically, even if the panel's web process is gone."),
    )


class KillForm(VerbForm):
    """Typed name of the pool, and how long a KILL keeps clients out, in seconds."""

    hold_s = forms.IntegerField(
        label=_("Keep clients waiting for"),
        min_value=0,
        max_value=LONGEST_HOLD_S,
        initial=0,
        help_text=_("0: they may come back at once. PgBouncer alone would leave the pool paused forever."),
    )
    confirm = forms.CharField(
        label=_("Type the pool's name to confirm"),
        strip=False,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
