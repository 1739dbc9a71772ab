"""The console in the browser: tables that sort and refresh, a pause that counts down, ends by itself, or is blocked."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.visiting import log_in
from tests.installation import Installation

BEAT_S = 5


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


@pytest.fixture
def pool(installation: Installation) -> Iterator[dict[str, Any]]:
    """The demo's pool; whatever a test did to it is undone."""
    found = next(one for one in installation.api.get("pools/")["results"] if one["name"] == "app")
    yield found
    installation.api.post(f"pools/{found['id']}/resume/")
    installation.api.post(f"pools/{found['id']}/enable/")


@pytest.fixture
def batch(installation: Installation, pool: dict[str, Any]) -> Iterator["psycopg.Connection[tuple[Any, ...]]"]:
    """A client of the pool in the midst of a transaction."""
    uri = installation.api.get(f"pools/{pool['id']}/connection/?as=uri&reveal=1")["text"]
    with psycopg.connect(uri, application_name="batch") as client:
        client.execute("SELECT 'a long job'")
        yield client


def console(page: Page, pool: dict[str, Any], word: str) -> Locator:
    page.goto(f"/poolers/{pool['pooler']}/console/{word}/")
    return page.locator("#console-table")


def test_a_click_sorts_the_table_and_its_address_keeps_that(page: Page, pool: dict[str, Any]) -> None:
    table = console(page, pool, "config")
    expect(table.get_by_role("row").nth(1)).to_be_visible()
    page.evaluate("window.stayed = true")
    table.get_by_role("link", name="key", exact=True).click()
    expect(table.get_by_role("columnheader", name="key")).to_have_attribute("aria-sort", "ascending")
    table.get_by_role("link", name="key", exact=True).click()
    expect(table.get_by_role("columnheader", name="key")).to_have_attribute("aria-sort", "descending")
    expect(table.get_by_role("cell").first).to_have_text("verbose")
    assert page.url.endswith("?sort=-key")
    assert page.evaluate("window.stayed")
    page.reload()
    expect(table.get_by_role("cell").first).to_have_text("verbose")


def test_a_new_client_appears_by_itself_and_is_found_as_one_types(
    page: Page, pool: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    table = console(page, pool, "clients")
    expect(table.get_by_role("cell", name="batch", exact=True)).to_have_count(0)
    request.getfixturevalue("batch")
    expect(table.get_by_role("cell", name="batch", exact=True)).to_have_count(1)
    page.get_by_placeholder("Rows that contain…").press_sequentially("batch")
    expect(page.locator("#console-count")).to_contain_text("1 of ")
    expect(table.get_by_role("row")).to_have_count(2)
    page.get_by_role("link", name="Stop refreshing").click()
    expect(page.get_by_role("link", name="Refresh automatically")).to_be_visible()
    expect(table).not_to_have_attribute("hx-trigger", "every 2s")


def test_a_pause_counts_down_and_is_resumed_by_a_click(page: Page, pool: dict[str, Any]) -> None:
    page.goto(f"/pools/{pool['id']}/")
    page.get_by_role("link", name="Pause…").click()
    expect(page.get_by_role("heading", name="Pause app?")).to_be_visible()
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("status").first).to_contain_text("Pool app is paused until")
    banner = page.locator("#pool-condition").get_by_role("status")
    expect(banner).to_contain_text("resumed automatically")
    expect(banner).to_contain_text(" s left")
    banner.get_by_role("button", name="Resume now").click()
    expect(page.get_by_role("status").first).to_contain_text("Pool app is running.")
    expect(page.locator("#pool-condition").get_by_role("status")).to_have_count(0)


def test_a_pause_ends_by_itself_while_one_watches(page: Page, pool: dict[str, Any], installation: Installation) -> None:
    installation.api.post(f"pools/{pool['id']}/pause/", {"hold_s": 2})
    page.goto(f"/pools/{pool['id']}/")
    banner = page.locator("#pool-condition").get_by_role("status")
    expect(banner).to_be_visible()
    expect(banner).to_have_count(0, timeout=(2 + 3 * BEAT_S) * 1000)
    assert installation.api.get(f"pools/{pool['id']}/")["paused_until"] is None


def test_a_blocked_pause_shows_who_held_it_up(
    visit: Callable[..., Page],
    installation: Installation,
    pool: dict[str, Any],
    batch: "psycopg.Connection[tuple[Any, ...]]",
) -> None:
    page = visit()  # the browser itself complains of a 409
    log_in(page, installation)
    page.goto(f"/pools/{pool['id']}/console/pause/")
    page.get_by_label("Wait at most").fill("1")
    page.get_by_label("Hold at most").fill("90")
    with page.expect_response(lambda answer: answer.request.method == "POST") as refused:
        page.get_by_role("button", name="Pause", exact=True).click()
    assert refused.value.status == 409
    expect(page.get_by_role("alert")).to_contain_text("pool app could not be paused in 1 s and was resumed: 1 blocker")
    row = page.get_by_role("row").filter(has_text="batch")
    expect(row).to_contain_text("idle in transaction")
    expect(row).to_contain_text("SELECT $1")  # Its literals would show what it queried for.
    expect(page.get_by_label("Hold at most")).to_have_value("90")
    assert batch.execute("SELECT 1").fetchone() == (1,)


def test_without_javascript_tables_sort_and_a_pool_is_disabled_and_enabled(
    visit: Callable[..., Page], installation: Installation, pool: dict[str, Any]
) -> None:
    page = visit(java_script_enabled=False)
    log_in(page, installation)
    table = console(page, pool, "databases")
    table.get_by_role("link", name="name", exact=True).click()
    expect(table.get_by_role("columnheader", name="name", exact=True)).to_have_attribute("aria-sort", "ascending")
    table.locator(f'a[href="/pools/{pool["id"]}/console/disable/"]').click()
    page.get_by_role("button", name="Disable").click()
    expect(page.get_by_role("status").first).to_contain_text("Pool app refuses new clients until it is enabled")
    enable = page.get_by_role("button", name="Enable")
    deadline = time.monotonic() + 60
    while not enable.is_visible():  # all watchers share an observation of the pooler, a second old or, busy, older
        assert time.monotonic() < deadline
        page.wait_for_timeout(300)
        page.reload()
    enable.click()
    expect(page.get_by_role("status").first).to_contain_text("Pool app accepts new clients.")
