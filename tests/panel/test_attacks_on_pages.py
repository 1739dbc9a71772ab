"""What a page of another site, or a text that somebody stored, may try: every page is asked."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import CharField, TextField
from django.test import Client

from tests.callers import bearer, person
from tests.panel import every_record
from tests.panel.every_answer import pages, reads_of_the_api
from tests.panel.test_authorization import PAGES

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_leaves")]
MARKUP = "zq\"'><zq-x>&"
TEXTS = {"name", "description", "summary", "error", "reason", "state_reason", "settings_reason", "message", "cause"}
TEXTS |= {"target_label", "database", "user", "subject_name", "pooled_by", "server_version", "client_version", "note"}
# a read may note who reads it
NOTED = ("django_session", "accounts_apitoken", "axes_")


@pytest.fixture
def records() -> dict[str, Any]:
    return every_record.records(person("zquser"))


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(person("zqadmin"))
    return client


def store_markup() -> int:
    """Put it wherever a person, a program or a server may have left a text; the number of columns."""
    filled = 0
    for model in apps.get_models():
        if model._meta.app_label not in ("pools", "benchmarks", "accounts"):
            continue
        for field in model._meta.fields:
            if field.name in TEXTS and isinstance(field, CharField | TextField) and not field.choices:
                for row in model._default_manager.all():
                    text = MARKUP + (str(row.pk)[:8] if field.unique or field.name == "name" else "")
                    model._default_manager.filter(pk=row.pk).update(**{field.name: text[: field.max_length]})
                filled += 1
    return filled


def test_no_stored_text_becomes_markup(admin: Client, records: dict[str, Any]) -> None:
    assert store_markup() > 15
    shown = {url: answer.getvalue() for url, answer in pages(admin, records) if "html" in answer["Content-Type"]}
    assert sum(b"&lt;zq-x&gt;" in body for body in shown.values()) > 30
    assert [url for url, body in shown.items() if b"<zq-x>" in body] == []


def test_htmx_evaluates_nothing_and_asks_nobody_else(admin: Client) -> None:
    page = admin.get("/")
    found = re.search(r"<meta\s+name=\"htmx-config\"\s+content='([^']+)'", page.content.decode())
    assert found
    config = json.loads(found[1])
    assert (config["allowEval"], config["selfRequestsOnly"]) == (False, True)
    policy = dict(one.strip().split(" ", 1) for one in page["Content-Security-Policy"].split(";") if one.strip())
    assert "unsafe" not in str(policy)
    assert (policy["connect-src"], policy["object-src"], policy["base-uri"]) == ("'self'", "'none'", "'none'")


def test_a_page_of_another_site_changes_nothing(admin: Client) -> None:
    strange = Client(enforce_csrf_checks=True)
    strange.cookies = admin.cookies
    answers = {address: strange.post(address).status_code for address in PAGES}
    assert {address: status for address, status in answers.items() if status != 403} == {}


def changes(ask: Callable[[], Iterator[tuple[str, Any]]]) -> list[str]:
    """The statements by which reads changed records."""
    written: list[str] = []

    def note(execute: Any, statement: str, *rest: Any) -> Any:
        if statement.lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE")):
            written.append(statement)
        return execute(statement, *rest)

    with connection.execute_wrapper(note):
        assert sum(1 for _ in ask()) > 50
    return [statement[:150] for statement in written if not any(table in statement for table in NOTED)]


def test_nothing_that_a_link_or_a_picture_can_ask_for_changes_a_record(admin: Client, records: dict[str, Any]) -> None:
    caller = bearer()
    written = changes(lambda: pages(admin, records))
    # which browser a session has, and when it was last seen, as the account's page shows it; how often a read-only link
    # was opened, and when last, as the list of links shows it
    noted = ('"accounts_browsersession"', 'UPDATE "benchmarks_sharedlink" SET "opened"')
    assert [one for one in written if not any(words in one for words in noted)] == []
    # no other site has a token: what fetches files with one is noted as the host that has them now
    written = changes(lambda: reads_of_the_api(caller, records))
    noted = ('UPDATE "pools_revision" SET "fetched_at"', '"pools_filefetch"')
    assert [one for one in written if not any(words in one for words in noted)] == []
