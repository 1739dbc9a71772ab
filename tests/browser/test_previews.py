"""Parts of forms that are asked for anew whenever a field changes, on a panel that takes its time to answer."""

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Request, Route

from tests.browser.conftest import WAIT_MS
from tests.browser.visiting import log_in
from tests.installation import Installation


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


def wait_until(page: Page, holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_MS / 1000
    while not holds():
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)


@pytest.mark.parametrize(
    ("form", "asked_from", "field"),
    [("/runs/new/", "/runs/new/preview/", "clients"), ("/pools/new/", "/pools/mode-check/", "size")],
)
def test_changes_in_quick_succession_end_with_the_last_and_none_is_aborted(
    page: Page, form: str, asked_from: str, field: str
) -> None:
    """An aborted request is an error to htmx, and leaves the panel with work that nobody reads."""
    errors: list[str] = []
    answered: list[str] = []
    held: list[Route] = []
    is_held = True

    def hold(route: Route) -> None:
        if is_held:
            held.append(route)
        else:
            route.continue_()

    def note(request: Request) -> None:
        if request.url.endswith(asked_from):
            answered.append(request.post_data or "")

    page.goto(form)
    page.wait_for_load_state("networkidle")
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("requestfinished", note)
    page.route(f"**{asked_from}", hold)
    for number in (3, 4, 5, 6):
        page.locator(f"[name={field}]").fill(str(number))
        page.locator(f"[name={field}]").dispatch_event("change")
        wait_until(page, lambda: held)  # the first is asked for and not answered while the others follow
    is_held = False
    for route in held:
        route.continue_()
    wait_until(page, lambda: any(f"{field}=6" in body for body in answered))
    assert len(answered) < 4
    assert errors == []
