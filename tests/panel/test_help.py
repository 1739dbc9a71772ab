"""The documentation under /help/: public, under the policy of every page, and nothing outside of its folder."""

import os
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from panel import help as help_pages
from panel.help_places import PLACES, START, address_of, place_of
from tests.callers import person
from tests.docs_blocks import DOCS
from tests.panel.test_shown_texts import PAGES
from tests.test_docs import anchors

pytestmark = pytest.mark.django_db


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A built documentation of two pages and a style."""
    folder = tmp_path / "docs"
    (folder / "how-to").mkdir(parents=True)
    (folder / "_static").mkdir()
    (folder / "index.html").write_text("<h1>Start</h1>")
    (folder / "how-to" / "one.html").write_text("<h1>One</h1>")
    (folder / "_static" / "site.css").write_text("h1 {}")
    (folder / "llms.txt").write_text("# Pooldeck")
    (tmp_path / "outside.txt").write_text("outside")
    monkeypatch.setattr(help_pages, "SITE", folder)
    return folder


@pytest.mark.parametrize(
    ("address", "kind", "text"),
    [
        ("/help/", "text/html; charset=utf-8", "<h1>Start</h1>"),
        ("/help/how-to/one.html", "text/html; charset=utf-8", "<h1>One</h1>"),
        ("/help/_static/site.css", "text/css; charset=utf-8", "h1 {}"),
        ("/help/llms.txt", "text/plain; charset=utf-8", "# Pooldeck"),
    ],
)
def test_a_file_is_served_without_a_login(client: Client, site: Path, address: str, kind: str, text: str) -> None:
    answer = client.get(address)
    assert (answer.status_code, answer["Content-Type"], answer.content.decode()) == (200, kind, text)


def test_the_policy_is_that_of_every_page(client: Client, site: Path) -> None:
    policy = client.get("/help/")["Content-Security-Policy"]
    assert "'unsafe-inline'" not in policy
    assert policy == client.get(reverse("login"))["Content-Security-Policy"]


def test_a_browser_asks_again_only_whether_a_page_changed(client: Client, site: Path) -> None:
    answer = client.get("/help/")
    assert answer["Cache-Control"] == "public, max-age=300"
    again = client.get("/help/", headers={"If-Modified-Since": answer["Last-Modified"]})
    assert again.status_code == 304
    os.utime(site / "index.html", (2_000_000_000, 2_000_000_000))
    assert client.get("/help/", headers={"If-Modified-Since": answer["Last-Modified"]}).status_code == 200


@pytest.mark.parametrize("name", ["none.html", "how-to", "how-to/", "../outside.txt", "%2e%2e/outside.txt", "a%00b"])
def test_what_is_no_page_is_not_found(client: Client, site: Path, name: str) -> None:
    answer = client.get(f"/help/{name}")
    assert answer.status_code == 404
    assert "The documentation has no such page." in answer.content.decode()


def test_a_link_that_leads_out_of_the_folder_is_not_followed(client: Client, site: Path) -> None:
    (site / "link.txt").symlink_to(site.parent / "outside.txt")
    assert client.get("/help/link.txt").status_code == 404


def test_where_nothing_is_built_the_page_says_how(client: Client, site: Path) -> None:
    (site / "index.html").unlink()
    answer = client.get("/help/")
    assert answer.status_code == 404
    assert "<pre>script/docs</pre>" in answer.content.decode()


def test_only_reads_are_answered(client: Client, site: Path) -> None:
    assert client.post("/help/").status_code == 405


# what pages load by themselves
PARTS_OF_PAGES = {"javascript-catalog", "workers", "logout", "record-choices"}


def test_each_page_of_the_panel_has_a_place_of_its_own() -> None:
    names = {name for _app, name, _kept in PAGES} - PARTS_OF_PAGES
    assert sorted(name for name in names if place_of(name) == START) == []


def test_each_entry_is_that_of_a_page() -> None:
    used = {key for _app, name, _kept in PAGES for key in PLACES if place_of(name) == PLACES[key]}
    assert sorted(set(PLACES) - used) == []


@pytest.mark.parametrize("place", sorted({*PLACES.values(), START}))
def test_each_place_is_in_the_sources(place: str) -> None:
    page, _, heading = place.partition("#")
    document = DOCS / page
    assert document.is_file()
    generated = (
        {"clusters-and-nodes", "poolers", "pools", "revisions", "runs"} if page == "reference/states.md" else set()
    )
    assert not heading or heading in anchors(document) | generated


def test_the_most_exact_entry_counts() -> None:
    assert place_of("pool-monitoring") == PLACES["pool-monitoring"]
    assert place_of("pool-edit") == PLACES["pool-"]
    assert place_of("something-new") == START
    assert address_of("event-list") == "reference/monitoring.html#events"


def test_a_page_has_a_link_that_the_keyboard_reaches(client: Client) -> None:
    page = client.get(reverse("login")).content.decode()
    assert f'href="/help/{address_of("login")}"' not in page  # It has no header to have it in.
    client.force_login(person())
    page = client.get(reverse("cluster-list")).content.decode()
    assert 'href="/help/reference/panel.html#clusters"' in page
    assert 'aria-label="Help on this page, in a new tab"' in page
