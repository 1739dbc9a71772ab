"""Where a form shows what a verb refused."""

from django import forms

from benchmarks.errors import InvalidGenerators, InvalidOptions, Refused, Unconfirmed
from benchmarks.forms import form_errors


class LoadForm(forms.Form):
    """A form of one number."""

    clients = forms.IntegerField()


def a_form() -> LoadForm:
    return LoadForm({"clients": 8})


def test_messages_stand_beside_their_field_and_the_others_above_the_form() -> None:
    form = a_form()
    form_errors.add_to(form, InvalidOptions({"clients": ["too many", "too odd"], "threads": ["no such field here"]}))
    assert form.errors == {"clients": ["too many", "too odd"], "__all__": ["no such field here"]}


def test_an_error_without_fields_stands_above_the_form() -> None:
    for error in (Refused("the cluster is protected"), InvalidGenerators(["there is no generator east"])):
        form = a_form()
        form_errors.add_to(form, error)
        assert form.errors == {"__all__": [str(error)]}


def test_each_change_that_has_to_be_confirmed_is_a_message_of_its_own() -> None:
    form, sentences = a_form(), ["cluster east is protected", "The server restarts."]
    form_errors.add_to(form, Unconfirmed(sentences))
    assert form.errors == {"__all__": sentences}
