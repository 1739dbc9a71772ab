"""Form of what needs a second person on a cluster."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from pools.forms.base import PanelForm
from pools.models import Act, ApprovalRules


class ApprovalRulesForm(PanelForm):
    """The kinds of acts, and the size beyond which a pool needs a second person too."""

    acts = forms.MultipleChoiceField(
        choices=Act.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple({"class": "form-check-input"}),
        label=_("A second person is needed to"),
    )
    pool_size = forms.IntegerField(
        min_value=1,
        required=False,
        label=_("Largest pool without a second person"),
        help_text=_("In connections; empty: the size of a pool needs nobody else"),
    )

    def __init__(self, *args: Any, rules: ApprovalRules, **kwargs: Any) -> None:
        initial = {"acts": rules.acts, "pool_size": rules.pool_size}
        super().__init__(*args, initial=initial, **kwargs)
