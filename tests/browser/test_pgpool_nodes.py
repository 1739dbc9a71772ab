"""The backends of a Pgpool-II on their page: detached and attached again, each after it was confirmed."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import forget_pool, log_in, make_pool
from tests.installation import Installation

SETTLES_MS = 30_000  # its children start anew after each change


@pytest.fixture
def nodes(installation: Installation) -> Iterator[str]:
    """The page of the demo's Pgpool-II, which has a pool, so that its PCP port knows the panel's login."""
    pgpool = next(one for one in installation.api.get("poolers/")["results"] if one["kind"] == "pgpool")
    pool = make_pool(installation, "app", 32, pooler=pgpool["id"], mode="session")
    yield f"/poolers/{pgpool['id']}/nodes/"
    forget_pool(installation, pool["id"])


def test_a_node_is_detached_and_attached_again_when_that_is_confirmed(
    visitor: Page, installation: Installation, nodes: str
) -> None:
    page = visitor
    log_in(page, installation)
    page.goto(nodes)
    row = page.get_by_role("row").filter(has_text="backend 0")
    expect(row).to_contain_text("up")

    row.get_by_role("link", name="Detach backend 0").click()
    expect(page.get_by_role("heading", name="Detach backend 0?")).to_be_visible()
    expect(page.get_by_text("every client will be refused until one is attached")).to_be_visible()
    page.get_by_role("link", name="Cancel").click()
    expect(row).to_contain_text("up")

    row.get_by_role("link", name="Detach backend 0").click()
    page.get_by_role("button", name="Detach it").click()
    expect(page.get_by_role("status").first).to_contain_text("is asked to detach backend 0")
    until_shown(page, nodes, "The pooler did not list its nodes")

    page.get_by_role("link", name="Attach backend 0").click()
    page.get_by_role("button", name="Attach it").click()
    expect(page.get_by_role("status").first).to_contain_text("is asked to attach backend 0")
    until_shown(page, nodes, "SHOW POOL_NODES, now")
    expect(row).to_contain_text(re.compile("up|waiting"))


def until_shown(page: Page, address: str, words: str) -> None:
    """Look again, as a person does, until the page says so."""
    for _ in range(30):
        if page.get_by_text(words).count():
            return
        page.wait_for_timeout(SETTLES_MS / 30)
        page.goto(address)
    expect(page.get_by_text(words)).to_be_visible()
