"""What browsers and proxies may keep: static files, texts of scripts and documentation, nothing that shows a record."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests.panel import every_record
from tests.panel.test_authorization import ADDRESSES
from tests.panel.test_shown_texts import PAGES, QUERIES, address

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_leaves")]
KEPT = {"/texts.js"}


def is_kept(answer: Any) -> bool:
    return "no-store" not in answer.headers.get("Cache-Control", "")


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("zquser"))
    return client


def test_no_page_that_shows_a_record_is_kept(admin: Client) -> None:
    records = every_record.records(User.objects.get(username="zquser"))
    urls = [address(name, kept, records) + QUERIES.get(name, "").format(**records) for _, name, kept in PAGES]
    answers = {url: admin.get(url) for url in urls}
    assert sum(answer.status_code == 200 for answer in answers.values()) > 50
    assert {url for url, answer in answers.items() if is_kept(answer)} == KEPT


@pytest.fixture
def documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "index.html").write_text("<h1>Pooldeck</h1>")
    monkeypatch.setattr("panel.help.SITE", tmp_path)
    return reverse("help")


def test_no_address_is_kept_whatever_it_answers(admin: Client, documentation: str) -> None:
    streams = {url for url in ADDRESSES if url.endswith(("/live/", "/events/"))}
    public = KEPT | {documentation}
    assert {url for url in set(ADDRESSES) - streams if is_kept(admin.get(url))} == public
    assert {url for url in set(ADDRESSES) - streams if is_kept(Client().get(url))} == public


def test_files_are_kept(client: Client) -> None:
    assert reverse("javascript-catalog") in KEPT
    assert not is_kept(client.get("/nothing/"))
