"""Every form of every page with a field left out or wrong: what JavaScript always sends is not always sent."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urljoin

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from tests import html_forms
from tests.html_forms import Form
from tests.panel import every_record
from tests.panel.test_shown_texts import PAGES, QUERIES, address

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_leaves")]
# A test for the pages of each kind of record, so that several processes share them; Django's own page is the login.
SUBJECTS = sorted({name.split("-")[0] for app, name, _ in PAGES if app != "django"})
WRONG = "\ud7ff'\"\0;" + "x" * 300
Sendings = Callable[[Form], Iterator[tuple[str, dict[str, Any]]]]
EXPECTED = (502, 503)  # The server or Redis can't be reached.


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("zquser"))
    return client


def forms(client: Client, records: dict[str, Any], subject: str) -> Iterator[tuple[str, str, Form]]:
    """Method, address and form of each that a page of the subject shows; the same form once."""
    met: set[tuple[str, str, tuple[str, ...]]] = set()
    for _, name, kept in (page for page in PAGES if page[1].split("-")[0] == subject):
        url = address(name, kept, records) + QUERIES.get(name, "").format(**records)
        answer = client.get(url)
        if "html" not in answer.headers.get("Content-Type", "") or answer.status_code != 200:
            continue
        for form in html_forms.of_page(answer.content.decode()):
            for method, action in form.targets:
                target = urljoin(url, action)
                if (one := (method, target, tuple(form.names))) not in met:
                    met.add(one)
                    yield method, target, form


def status_of(client: Client, target: str, method: str, values: dict[str, Any]) -> int:
    """What the form is answered with; nothing that it changes stays, not even a logout."""
    sender = Client(raise_request_exception=False)
    sender.cookies.update(client.cookies)
    with transaction.atomic():
        status: int = getattr(sender, method)(target, values).status_code
        transaction.set_rollback(True)
    return status


def sendings(form: Form) -> Iterator[tuple[str, dict[str, Any]]]:
    """The form empty, and without each field that is filled in; without those that are not, all at once.

    The key by which a form that is sent twice is known is new each time.
    """
    unfilled = [name for name in form.names if not any(form.values.get(name, ()))]
    yield "empty", {}
    yield "without what is not filled in", form.without(*unfilled)
    for name in form.names:
        if name not in unfilled:
            again = {"page": [uuid.uuid4().hex]} if "page" in form.values and name != "page" else {}
            yield f"without {name}", form.without(name) | again


def wrong_sendings(form: Form) -> Iterator[tuple[str, dict[str, Any]]]:
    """The form with each of its fields in turn filled with what no field takes."""
    for name in form.names:
        again = {"page": [uuid.uuid4().hex]} if "page" in form.values and name != "page" else {}
        yield f"wrong {name}", form.values | again | {name: WRONG}


def server_errors(client: Client, subject: str, made: Sendings) -> dict[tuple[str, str, str], int]:
    """What is answered with a server error: method, address, what was left out or wrong → status."""
    records = every_record.records(User.objects.get(username="zquser"))
    return {
        (method, target, how): status
        for method, target, form in forms(client, records, subject)
        for how, values in made(form)
        if (status := status_of(client, target, method, values)) >= 500 and status not in EXPECTED
    }


@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_form_with_a_field_left_out_is_a_server_error(admin: Client, subject: str) -> None:
    assert server_errors(admin, subject, sendings) == {}


@pytest.mark.slow
@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_form_with_a_wrong_value_is_a_server_error(admin: Client, subject: str) -> None:
    assert server_errors(admin, subject, wrong_sendings) == {}
