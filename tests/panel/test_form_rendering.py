"""Controls of forms that are made without templates: the same to the byte as Django's templates make them."""

from unittest import mock

import pytest
from django import forms
from django.forms.renderers import DjangoTemplates
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy

from panel.form_rendering import FormRenderer

CHOICES = [
    ("", gettext_lazy("Choose…")),
    ("a", "A & b"),
    ("Group <1>", [(1, "one"), (2, mark_safe("<b>"))]),
    (1000, 1000),
]
WIDGETS = {
    "text": forms.TextInput(attrs={"class": 'a "b"', "required": True, "disabled": False, "maxlength": 63}),
    "number": forms.NumberInput(attrs={"min": 1, "step": "any"}),
    "hidden": forms.HiddenInput(),
    "password": forms.PasswordInput(render_value=True),
    "email": forms.EmailInput(),
    "url": forms.URLInput(),
    "checkbox": forms.CheckboxInput(attrs={"class": "form-check-input"}),
    "select": forms.Select(choices=CHOICES, attrs={"id": "x"}),
    "radios": forms.RadioSelect(choices=CHOICES),
    "several": forms.CheckboxSelectMultiple(choices=CHOICES),
    "area": forms.Textarea(),
}


@pytest.mark.parametrize("name", WIDGETS)
@pytest.mark.parametrize("value", [None, "", "a", 1000, 2.5, True, False, "<\"&'>", mark_safe("&amp;")])
def test_a_control_is_what_django_makes(name: str, value: object) -> None:
    widget = WIDGETS[name]
    found = [
        widget.render("na<me", value, {"id": "id_1"}, renderer) for renderer in (FormRenderer(), DjangoTemplates())
    ]
    assert found[0] == found[1]


class Many(forms.Form):
    """A form of twenty plain fields."""

    default_renderer = FormRenderer
    kind = forms.ChoiceField(choices=CHOICES)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields |= {f"field_{at}": forms.IntegerField() for at in range(20)}


def test_a_plain_form_without_errors_asks_no_template() -> None:
    with mock.patch.object(DjangoTemplates, "get_template") as asked:
        controls = [f"{field}{field.errors}" for field in Many()]
    assert (len(controls), asked.call_count) == (21, 0)
    assert "This field is required." in str(Many({})["kind"].errors)
