"""A sweep over clients from the form to its chart."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import RUN_PAGE, id_at, log_in
from tests.installation import Installation

ENDED_S = 120


def ended(installation: Installation, run_id: str) -> list[dict[str, Any]]:
    """The runs of the group of a run, once all have ended."""
    group = installation.api.get(f"runs/{run_id}/")["group"]
    runs = installation.api.get(f"runs/?group={group}&ordering=number")["results"]
    return [installation.api.wait(f"runs/{run['id']}/", "status", {"succeeded"}, ENDED_S) for run in runs]


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


@pytest.mark.slow  # three runs of the demo, one after the other
def test_a_sweep_ends_in_a_chart_over_its_clients(page: Page, installation: Installation) -> None:
    page.goto("/runs/new/")
    page.get_by_label("Duration").fill("2")
    page.get_by_label("Sweep over clients").fill("1, 4, 16")
    expect(page.locator("#commands")).to_contain_text("The sweep runs it with 1, 4, 16 clients")
    expect(page.locator("#commands pre")).to_contain_text("-c 16")
    page.get_by_role("button", name="Start 3 runs").click()
    run_id = id_at(page, RUN_PAGE)
    assert [run["summary"]["clients"] for run in ended(installation, run_id)] == [1, 4, 16]
    page.goto(f"/runs/{run_id}/")
    page.get_by_role("link", name="Compare all 3 runs").click()
    sweep = page.locator("#sweep")
    expect(sweep.locator("svg").first.locator("circle")).to_have_count(3)  # hollow where the machine was too busy
    assert sweep.locator("svg .tick").all_text_contents()[:3] == ["1", "4", "16"]
    sweep.get_by_text("As a table").click()
    expect(sweep.get_by_role("row")).to_have_count(4)
