"""What a pool does, live before the eyes, and its history with and without JavaScript."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.visiting import log_in
from tests.installation import Installation


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


@pytest.fixture
def demo(installation: Installation) -> dict[str, Any]:
    return next(one for one in installation.api.get("pools/")["results"] if one["name"] == "app")


@pytest.fixture
def busy(installation: Installation, demo: dict[str, Any]) -> Iterator[None]:
    """Eight clients for twenty seconds."""
    options = {"builtin": "select-only", "clients": 8, "threads": 1, "duration": 20, "rate": 200}
    run = installation.api.post("runs/", {"target": {"pool": demo["id"]}, "options": options})
    installation.api.wait(f"runs/{run['id']}/", "status", {"running"}, 30)
    yield
    installation.api.call("POST", f"runs/{run['id']}/cancel/")
    installation.api.wait(f"runs/{run['id']}/", "status", {"cancelled", "succeeded"}, 60)


def seen(page: Page) -> int:
    return int(page.locator("[data-monitoring]").get_attribute("data-seen") or 0)


def wait_until_seen(page: Page, count: int) -> None:
    deadline = time.monotonic() + 60
    while seen(page) < count:
        assert time.monotonic() < deadline, f"{seen(page)} figures came, not {count}"
        page.wait_for_timeout(100)


def picture(page: Page, chart: str) -> str:
    drawn: str = page.locator(f"[data-chart={chart}] canvas").evaluate("canvas => canvas.toDataURL()")
    return drawn


def test_the_charts_of_a_pool_move_each_second_and_tell_its_load(page: Page, demo: dict[str, Any], busy: None) -> None:
    page.goto(f"/pools/{demo['id']}/monitoring/")
    wait_until_seen(page, 2)
    first, began = picture(page, "rates"), time.monotonic()
    wait_until_seen(page, 6)
    assert time.monotonic() - began < 16
    assert picture(page, "rates") != first
    tile = page.locator("[data-figure=queries_per_s]")
    assert 100 < float((tile.locator("span").text_content() or "0").replace(",", "")) < 400
    assert (tile.get_attribute("title") or "").endswith(" /s")
    expect(page.locator("[data-figure=cl_active] span")).to_have_text("8")
    expect(page.locator("[data-live-state]")).to_have_text("live")


@pytest.mark.slow
def test_without_a_stream_the_page_polls_and_goes_on_live_once_there_is_one(
    visit: Callable[..., Page], installation: Installation, demo: dict[str, Any]
) -> None:
    def refuse(route: Route) -> None:
        if route.request.resource_type == "eventsource":
            route.fulfill(status=503, headers={"Retry-After": "5"}, body="no place")
        else:
            route.continue_()

    page = visit()
    log_in(page, installation)
    page.route("**/*", refuse)
    page.goto(f"/pools/{demo['id']}/monitoring/")
    expect(page.locator("[data-live-state]")).to_have_text("every few seconds", timeout=30_000)
    wait_until_seen(page, 2)
    expect(page.locator("[data-figure=sv_idle] span")).not_to_be_empty()
    page.unroute("**/*")
    expect(page.locator("[data-live-state]")).to_have_text("live", timeout=60_000)


@pytest.mark.parametrize("noun", ["pools", "poolers"])
def test_the_page_of_a_pool_and_of_its_pooler_moves_too(page: Page, demo: dict[str, Any], noun: str) -> None:
    page.goto(f"/{noun}/{demo['id' if noun == 'pools' else 'pooler']}/")
    wait_until_seen(page, 2)
    first = picture(page, "connections")
    wait_until_seen(page, 4)
    assert picture(page, "connections") != first


def test_history_is_there_without_javascript(
    visit: Callable[..., Page], installation: Installation, demo: dict[str, Any]
) -> None:
    deadline = time.monotonic() + 150
    while not installation.api.get(f"pools/{demo['id']}/history/?range=hour")["points"]:
        assert time.monotonic() < deadline, "the worker and beat record no minute"
        time.sleep(1)
    page = visit(java_script_enabled=False)
    log_in(page, installation)
    page.goto(f"/pools/{demo['id']}/monitoring/?range=hour")
    page.get_by_text("Connections as a table").click()
    expect(page.get_by_role("region", name="Connections over time").locator("tbody tr").first).to_be_visible()


def test_thresholds_are_set_and_a_wrong_one_is_said_beside_its_field(page: Page) -> None:
    page.goto("/events/")
    page.get_by_role("link", name="Thresholds").click()
    field = page.get_by_label("clients waiting for a connection: closes below")
    field.fill("50")
    page.get_by_role("button", name="Save the thresholds").click()
    expect(
        page.get_by_text("an event may not close below 50: use more than 0 and at most 5, where it opens")
    ).to_be_visible()
    expect(field).to_have_value("50")
    field.fill("2")
    page.get_by_role("button", name="Save the thresholds").click()
    expect(page.get_by_text("The thresholds are saved")).to_be_visible()
    expect(field).to_have_value("2")
