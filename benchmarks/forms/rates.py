"""The form that changes the rate of a run while its load goes on."""

from django import forms
from django.utils.translation import gettext_lazy as _

from benchmarks.runs.submission import rate as rates
from pools.forms.base import PanelForm


class RateForm(PanelForm):
    """A rate in transactions a second; empty: as fast as the load goes."""

    rate = forms.FloatField(
        label=_("Rate"),
        required=False,
        min_value=rates.LEAST,
        max_value=rates.MOST,
        help_text=_("Transactions a second; empty: as fast as it goes"),
        widget=forms.NumberInput(attrs={"step": "any", "autofocus": True}),
    )
