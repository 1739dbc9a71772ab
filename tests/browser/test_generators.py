"""Generators on their page, and a run over several of them, watched in the browser."""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import log_in
from tests.installation import Installation
from tests.workers import workers


@pytest.fixture(scope="module")
def east_and_west(installation: Installation) -> Iterator[None]:
    """Two workers beside the installation's own."""
    with workers(installation, ["east", "west"], children=2):
        yield


def test_a_run_over_three_generators_is_watched_as_one(
    visitor: Page, installation: Installation, east_and_west: None
) -> None:
    log_in(visitor, installation)
    visitor.goto("/")
    visitor.get_by_role("link", name="Generators").click()
    for name in ("east", "local", "west"):
        row = visitor.get_by_role("row").filter(has=visitor.get_by_text(name, exact=True))
        expect(row).to_contain_text("alive")
        expect(row).to_contain_text("pgbench")
    fill_form(visitor)
    for name in ("east", "local", "west"):
        visitor.locator(f"[name=generators][value={name}]").check()
    visitor.get_by_role("button", name="Start the run").click()
    wait_for_points(visitor, 3)
    parts = visitor.locator("#parts tbody tr")
    expect(parts).to_have_count(3)
    expect(parts.first).to_contain_text(re.compile("running|succeeded"))
    expect(visitor.locator("#result-title")).to_be_visible()
    expect(visitor.locator("#run-head")).to_contain_text("succeeded")
    expect(visitor.locator("#parts")).to_contain_text("started within")
    assert [parts.nth(at).locator("td").nth(2).inner_text() for at in range(3)] == ["3", "2", "2"]
    parts.first.get_by_role("link").click()
    expect(visitor.locator("#run-details")).to_contain_text("The part of generator east")
    wait_for_points(visitor, 3)


def fill_form(page: Page) -> None:
    """A run of 8 seconds straight to the demo's database, its place open."""
    page.goto("/runs/new/")
    page.get_by_text("Straight to a cluster").click()
    page.locator("[name=cluster]").select_option(index=1)
    page.locator("[name=database]").fill("app")
    page.locator("[name=clients]").fill("7")
    page.locator("[name=duration]").fill("8")
    page.locator("[name=rate]").evaluate("field => field.closest('details').open = true")
    page.locator("[name=rate]").fill("200")
    page.locator("#placing > summary").click()


def wait_for_points(page: Page, count: int) -> None:
    """Until the charts hold so many samples."""
    deadline = time.monotonic() + 90
    points = "Number(document.querySelector('[data-run-id]')?.dataset.points || 0)"
    while (drawn := page.evaluate(points)) < count:
        assert time.monotonic() < deadline, f"{drawn} points are drawn, not {count}"
        time.sleep(0.1)


def test_a_load_that_can_not_be_shared_is_refused_beside_its_field(
    visitor: Page, installation: Installation, east_and_west: None
) -> None:
    log_in(visitor, installation)
    fill_form(visitor)
    visitor.locator("[name=clients]").fill("2")
    visitor.locator("[name=threads]").fill("1")
    for name in ("east", "local", "west"):
        visitor.locator(f"[name=generators][value={name}]").check()
    visitor.get_by_role("button", name="Start the run").click()
    expect(visitor.get_by_text("2 can't be shared by 3 generators: use at least 3")).to_be_visible()
    expect(visitor.locator("[name=generators][value=west]")).to_be_checked()
