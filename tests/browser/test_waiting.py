"""From a saturated pool to the session that blocks it, and to its end, in a real browser."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import log_in
from tests.installation import Installation

pytestmark = pytest.mark.browser
UPDATE = "UPDATE stock SET pieces = pieces - 1"


@pytest.fixture
def blocked(installation: Installation) -> Iterator[dict[str, Any]]:
    """The demo's pool, whose server connections wait for a migration that was left open, and clients for these."""
    pool = next(one for one in installation.api.get("pools/")["results"] if one["name"] == "app")
    uri = installation.api.get(f"pools/{pool['id']}/connection/?as=uri&reveal=1")["text"]
    with ExitStack() as stack:
        blocker = stack.enter_context(psycopg.connect(uri, application_name="migration"))
        blocker.execute("DROP TABLE IF EXISTS stock; CREATE TABLE stock AS SELECT 9 AS pieces")
        blocker.commit()
        blocker.execute(UPDATE)
        for _number in range(pool["size"] + 2):
            client = psycopg.connect(uri, application_name="shop")
            stack.callback(client.close)
            client.pgconn.send_query(UPDATE.encode())
        stack.callback(blocker.close)
        yield pool


def test_from_the_badge_to_the_blocker_and_its_end(
    visitor: Page, installation: Installation, blocked: dict[str, Any]
) -> None:
    log_in(visitor, installation)
    visitor.goto("/pools/")
    expect(visitor.get_by_role("row").filter(has_text="app").get_by_text("saturated").first).to_be_visible()
    visitor.goto(f"/pools/{blocked['id']}/")
    visitor.get_by_role("navigation", name="Pool app").get_by_role("link", name="Why waiting?").click()
    cause = visitor.get_by_role("status").filter(has_text="Lock:")
    expect(cause).to_contain_text("application migration")
    cause.get_by_role("link", name="Terminate").click()
    expect(visitor.get_by_role("heading", level=1)).to_contain_text("Terminate process")
    content = visitor.locator("#content")
    for told in ("migration", "open for", UPDATE, "its transaction is rolled back"):
        expect(content).to_contain_text(told)
    visitor.get_by_role("button", name="Terminate the session").click()
    visitor.wait_for_url(f"**/pools/{blocked['id']}/waiting/")
    expect(visitor.get_by_text("is gone, and its transaction is rolled back.")).to_be_visible()
    expect(visitor.get_by_text("No client waits for a connection of pool app now.")).to_be_visible()


def test_who_uses_the_pool_is_one_click_away(
    visitor: Page, installation: Installation, blocked: dict[str, Any]
) -> None:
    log_in(visitor, installation)
    visitor.goto(f"/pools/{blocked['id']}/")
    visitor.get_by_role("link", name="Applications").click()
    rows = visitor.get_by_role("row")
    expect(rows.nth(1)).to_contain_text("shop")
    expect(visitor.get_by_role("row").filter(has_text="migration")).to_be_visible()
    visitor.get_by_role("link", name="Top statements").click()
    expect(visitor.locator("#content")).to_contain_text("CREATE EXTENSION pg_stat_statements;")
