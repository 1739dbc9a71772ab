"""The browser's Back leads to a whole page, also where a part of it was asked for under the same address."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import log_in
from tests.installation import Installation


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


def swapping(installation: Installation) -> list[str]:
    """The pages whose parts refresh under their own address."""
    (pool,) = [one for one in installation.api.get("pools/")["results"] if one["name"] == "app"]
    consoles = [f"/poolers/{pool['pooler']}/console/{word}/" for word in ("pools", "config")]
    return ["/pools/", *consoles]


def test_back_shows_whole_pages(page: Page, installation: Installation) -> None:
    for address in swapping(installation):
        page.goto(address)
        page.evaluate("address => htmx.ajax('GET', address, {target: '#content', swap: 'none'})", address)
        page.wait_for_load_state("networkidle")
        page.goto("/events/")
        page.go_back()
        expect(page.get_by_role("navigation", name="Main")).to_be_attached()
        expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_a_part_is_kept_by_no_cache(page: Page, installation: Installation) -> None:
    for address in swapping(installation):
        part = page.request.get(address, headers={"HX-Request": "true", "HX-Target": "console-table"})
        whole = page.request.get(address)
        assert "no-store" in part.headers["cache-control"]
        assert "HX-Request" in part.headers["vary"]
        assert "HX-Request" in whole.headers["vary"]
