"""Pages hold still while they load, and fit the window: the room of what a script draws is there from the first."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import log_in
from tests.installation import Installation

GOOD = 0.1  # web.dev's limit of "good" for the cumulative layout shift
SHIFT = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => { for (const one of list.getEntries()) if (!one.hadRecentInput) sum += one.value; })
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(sum), 1500);
})"""


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


@pytest.fixture
def run(installation: Installation) -> dict[str, Any]:
    (pool,) = [one for one in installation.api.get("pools/")["results"] if one["name"] == "app"]
    asked = {"target": {"pool": pool["id"]}, "options": {"duration": 3, "clients": 2, "rate": 100}}
    made = installation.api.post("runs/", asked)
    done: dict[str, Any] = installation.api.wait(f"runs/{made['id']}/", "status", {"succeeded", "failed"}, 60)
    return done


def test_the_page_of_a_run_holds_still(page: Page, run: dict[str, Any]) -> None:
    page.goto(f"/runs/{run['id']}/")
    expect(page.locator("[data-chart=tps]")).to_be_visible()
    assert page.evaluate(SHIFT) < GOOD


def test_the_pages_of_a_pool_hold_still(page: Page, run: dict[str, Any]) -> None:
    for address in (f"/pools/{run['target']['pool']}/", f"/pools/{run['target']['pool']}/monitoring/"):
        page.goto(address)
        expect(page.locator("[data-chart=connections]")).to_be_visible()
        assert page.evaluate(SHIFT) < GOOD, address


def test_a_comparison_holds_still(page: Page, run: dict[str, Any], installation: Installation) -> None:
    pooled = {"target": {"pool": run["target"]["pool"]}, "options": {"duration": 3, "clients": 2, "rate": 100}}
    again = installation.api.post("runs/", pooled)
    installation.api.wait(f"runs/{again['id']}/", "status", {"succeeded", "failed"}, 60)
    page.goto(f"/runs/compare/?run={run['id']}&run={again['id']}")
    expect(page.locator("[data-chart=tps]")).to_be_visible()
    assert page.evaluate(SHIFT) < GOOD


LISTS = ("/", "/clusters/", "/poolers/", "/pools/", "/events/", "/runs/", "/experiments/", "/generators/", "/tokens/")


@pytest.mark.parametrize("width", [720, 1000])  # 720: a window of 1440 at 200 % zoom
def test_lists_fit_the_window(page: Page, run: dict[str, Any], width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    too_wide = {}
    for address in LISTS:
        page.goto(address)
        if (extent := page.evaluate("document.documentElement.scrollWidth")) > width:
            too_wide[address] = extent
    assert too_wide == {}
