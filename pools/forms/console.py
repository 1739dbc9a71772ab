"""What is asked of a person before a console verb is sent."""

from typing import Any

from django import forms

from pools.console.commands import DEADLINE_S, HOLD_S, LONGEST_DEADLINE_S, LONGEST_HOLD_S


class VerbForm(forms.Form):
    """A verb that asks for nothing."""

    def values(self) -> dict[str, Any]:
        """The verb's arguments."""
        return dict(self.cleaned_data)


class PauseForm(VerbForm):
    """How long to wait, and how long to hold."""

    deadline_s = forms.IntegerField(
        label="Wait at most",
        min_value=1,
        max_value=LONGEST_DEADLINE_S,
        initial=DEADLINE_S,
        help_text="For running transactions to end. After that the pause is taken back and those who block are named.",
    )
    hold_s = forms.IntegerField(
        label="Hold at most",
        min_value=1,
        max_value=LONGEST_HOLD_S,
        initial=HOLD_S,
        help_text="Then it is resumed by itself, even if the panel's web process is gone.",
    )


class KillForm(VerbForm):
    """The typed name, and how long clients are kept out."""

    hold_s = forms.IntegerField(
        label="Keep clients waiting for",
        min_value=0,
        max_value=LONGEST_HOLD_S,
        initial=0,
        help_text="0: they may come back at once. PgBouncer alone would leave the pool paused for ever.",
    )
    confirm = forms.CharField(strip=False, widget=forms.TextInput(attrs={"autocomplete": "off"}))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["confirm"].label = "Type the pool's name to confirm"
