"""A pooler's revisions by clicking: what a change was, and the way back to what stood before it."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import forget_pool, log_in, make_pool
from tests.installation import Installation


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


@pytest.fixture
def pool(installation: Installation) -> Iterator[dict[str, Any]]:
    """A pool that was made with 4 connections and has 7 since."""
    made = make_pool(installation, "turned")
    installation.api.call("PATCH", f"pools/{made['id']}/", {"size": 7})
    yield installation.api.wait(f"pools/{made['id']}/", "state", {"applied"}, 30)
    forget_pool(installation, made["id"])


def test_a_change_is_read_as_a_diff_and_taken_back(
    page: Page, installation: Installation, pool: dict[str, Any]
) -> None:
    page.goto(f"/poolers/{pool['pooler']}/")
    page.get_by_role("navigation", name="Pooler pgbouncer").get_by_role("link", name="Revisions").click()
    changed = page.get_by_role("row").filter(has_text="turned: size 4 → 7")
    expect(changed).to_contain_text("live")
    number = int(changed.get_by_role("link").first.inner_text())
    changed.get_by_role("link").first.click()
    before, after = (
        page.locator(".pd-diff-removed", has_text="turned"),
        page.locator(".pd-diff-added", has_text="turned"),
    )
    expect(before).to_contain_text("pool_size=4")
    expect(after).to_contain_text("pool_size=7")
    expect(after).to_contain_text("password=••••")
    uri = installation.api.get(f"pools/{pool['id']}/connection/?as=uri&reveal=1")["text"]
    secret = urlsplit(uri).password
    assert secret
    assert secret not in page.content()

    page.goto(f"/poolers/{pool['pooler']}/revisions/{number - 1}/")
    page.get_by_role("link", name="Roll back to this").click()
    expect(page.locator(".pd-diff-added")).to_contain_text("pool_size=4")
    page.get_by_role("button", name=f"Roll back to revision {number - 1}").click()
    expect(page.get_by_role("status").first).to_contain_text(f"back to revision {number - 1}")
    rolled = installation.api.wait(f"pools/{pool['id']}/", "state", {"applied"}, 30)
    assert rolled["size"] == 4
    page.reload()
    newest = page.get_by_role("row").nth(1)
    expect(newest).to_contain_text(f"rollback to {number - 1}")
    expect(newest).to_contain_text("live")
    page.goto(f"/pools/{pool['id']}/")
    expect(page.locator("#pool-state")).to_have_text("applied")
    expect(page.get_by_text("4 server connections")).to_be_visible()


def test_revisions_far_apart_are_compared(page: Page, pool: dict[str, Any]) -> None:
    page.goto(f"/poolers/{pool['pooler']}/revisions/1/")
    latest = page.get_by_label("Changes since").locator("option").nth(1).get_attribute("value")
    assert latest
    page.get_by_label("Changes since").select_option(latest)
    page.get_by_role("button", name="Compare").click()
    expect(page).to_have_url(f"/poolers/{pool['pooler']}/revisions/1/?against={latest}")
    expect(page.locator(".pd-diff-removed", has_text="turned").first).to_be_visible()
