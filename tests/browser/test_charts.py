"""Charts of what was recorded: a change of size with its mark, figures at the cursor, and all without scripts."""

import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import POOL_PAGE, forget_pool, log_in, make_pool
from tests.installation import Installation

CURSOR_OF_MARK = """kind => {
    const chart = window.pooldeckCharts.charts[0];
    const mark = chart.marks.list.find((one) => one.kind === kind);
    return { x: chart.chart.scales.x.getPixelForValue(mark.t), t: mark.t, shown: chart.marks.shown.length };
}"""


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


@pytest.fixture
def pool(installation: Installation) -> Iterator[dict[str, Any]]:
    """A pool of its own."""
    made = make_pool(installation, "resized")
    yield made
    forget_pool(installation, made["id"])


def wait_until_recorded(installation: Installation, pool: dict[str, Any], at: float) -> None:
    """Wait until the worker has recorded the minute of a moment."""
    minute = int(at // 60) * 60
    deadline = time.monotonic() + 240
    while True:
        points = installation.api.get(f"pools/{pool['id']}/history/?range=quarter_hour")["points"]
        if any(datetime.fromisoformat(point["at"]).timestamp() == minute for point in points):
            return
        assert time.monotonic() < deadline, "the worker and beat record no minute"
        time.sleep(1)


@pytest.mark.slow  # it waits until the worker has recorded the minute
def test_a_change_of_size_is_marked_at_its_minute_by_mouse_and_by_keyboard(
    page: Page, installation: Installation, pool: dict[str, Any]
) -> None:
    page.goto(f"/pools/{pool['id']}/edit/")
    page.get_by_label("Size", exact=True).fill("5")
    page.get_by_role("button", name="Save and apply").click()
    expect(page).to_have_url(POOL_PAGE)
    expect(page.locator("#pool-state")).to_have_text("applied")
    revision = installation.api.get(f"poolers/{pool['pooler']}/revisions/")["results"][0]
    applied_at = datetime.fromisoformat(revision["finished_at"]).timestamp()
    wait_until_recorded(installation, pool, applied_at)
    page.get_by_role("link", name="Monitoring").first.click()
    page.get_by_role("link", name="15 min").click()
    change = f"size {pool['size']} → 5"
    listed = page.get_by_role("region", name="What happened").get_by_role("link", name=change)
    expect(listed).to_be_visible()

    chart = page.locator("[data-chart=connections]")
    canvas, told = chart.locator("canvas"), chart.locator("[data-readout]")
    mark = page.evaluate(CURSOR_OF_MARK, "size")
    assert abs(mark["t"] - applied_at) < 1
    canvas.scroll_into_view_if_needed()
    canvas.hover(position={"x": mark["x"], "y": 40})
    expect(told).to_contain_text(change)

    page.mouse.move(0, 0)
    expect(told).to_be_empty()
    canvas.focus()
    page.keyboard.press("Home")
    for _step in range(16):
        if change in (told.text_content() or ""):
            break
        page.keyboard.press("ArrowRight")
    minute = datetime.fromtimestamp(int(applied_at // 60) * 60).astimezone()
    expect(told).to_contain_text(change)
    shown = re.search(r"\d\d:(\d\d) ", told.text_content() or "")
    assert shown
    assert int(shown[1]) == minute.minute
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/poolers/{pool['pooler']}/revisions/\d+/$"))


def test_a_kind_of_marks_is_hidden_by_its_button(page: Page, pool: dict[str, Any]) -> None:
    page.goto(f"/pools/{pool['id']}/monitoring/?range=hour")
    before = page.evaluate(CURSOR_OF_MARK, "revision")["shown"]
    button = page.get_by_role("button", name="revisions", exact=True)
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    assert page.evaluate(CURSOR_OF_MARK, "revision")["shown"] < before


def test_an_address_with_both_ends_shows_the_same_again(page: Page, pool: dict[str, Any]) -> None:
    page.goto(f"/pools/{pool['id']}/monitoring/?range=six_hours")
    span = "[window.pooldeckCharts.zoom.start, window.pooldeckCharts.zoom.end]"
    before = page.evaluate(span)
    page.get_by_role("link", name="Link to these hours").click()
    page.wait_for_url(re.compile(r"[?]since="))
    assert page.evaluate(span) == before


@pytest.mark.slow  # as above
def test_tables_and_marks_are_there_without_javascript(
    visit: Callable[..., Page], installation: Installation, pool: dict[str, Any]
) -> None:
    wait_until_recorded(installation, pool, time.time())
    page = visit(java_script_enabled=False)
    log_in(page, installation)
    page.goto(f"/pools/{pool['id']}/monitoring/?range=hour")
    page.get_by_text("Connections as a table").click()
    expect(page.get_by_role("region", name="Connections over time").locator("tbody tr").first).to_be_visible()
    expect(page.get_by_role("region", name="What happened").get_by_role("link").first).to_be_visible()
    expect(page.locator("canvas").first).to_be_hidden()


@pytest.mark.slow  # as above
def test_poolers_of_a_cluster_stand_beside_each_other(
    page: Page, installation: Installation, pool: dict[str, Any]
) -> None:
    wait_until_recorded(installation, pool, time.time())
    page.goto(f"/clusters/{pool['cluster']}/")
    page.get_by_role("link", name="Monitoring").click()
    page.get_by_label("Figure").select_option(label="Clients active")
    page.locator(".pd-figure-choice").get_by_role("button", name="Show").click()
    expect(page.locator("[data-chart]").first).to_be_visible()
    scales = page.evaluate("window.pooldeckCharts.charts.map(({ chart }) => chart.scales.y.max)")
    most = page.evaluate("JSON.parse(document.getElementById('course').textContent).most")
    assert scales
    assert scales == pytest.approx([1.05 * most or 1] * len(scales))
