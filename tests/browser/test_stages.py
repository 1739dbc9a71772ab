"""Stages of a load from the form's shape to the marks in the charts."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import RUN_PAGE, id_at, log_in
from tests.installation import Installation

ENDED_S = 120


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


@pytest.mark.slow  # a run of the demo
def test_a_shape_fills_the_stages_and_each_is_a_mark_and_a_row(page: Page, installation: Installation) -> None:
    page.goto("/runs/new/")
    page.locator("#id_clients").fill("4")
    page.locator("#id_duration").fill("5")
    page.get_by_text("a ramp, a spike, bursts or a soak in one run").click()
    page.get_by_label("Shape").select_option("spike")
    stages = page.locator("#id_stages")
    expect(stages).to_have_value("2s 1\n1s 4\n2s 1")
    stages.fill("2s 2\n2s 4 100/s")
    expect(page.locator("#commands pre")).to_contain_text("-c 4 -j 2 -T 2 -P 1 -M simple -R 100")
    page.get_by_role("button", name="Start the run").click()
    run_id = id_at(page, RUN_PAGE)
    rows = page.locator("#stages tbody tr")
    expect(rows).to_have_count(2)
    expect(page.locator("[data-stage-began]")).to_have_count(2)  # the second comes without a reload
    installation.api.wait(f"runs/{run_id}/", "status", {"succeeded"}, ENDED_S)
    expect(rows.nth(1)).to_contain_text("succeeded")
    marks = "window.pooldeckRun.stack.marks.list.map(({ label }) => label).filter((one) => one.startsWith('stage'))"
    assert page.evaluate(marks) == ["stage 1: 2 clients", "stage 2: 4 clients, 100/s"]
    page.reload()
    expect(page.locator("#charts canvas").first).to_be_visible()
    assert page.evaluate(marks) == ["stage 1: 2 clients", "stage 2: 4 clients, 100/s"]
