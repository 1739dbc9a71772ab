"""Logging in, tokens and the API's documentation in a real Chromium, some of it without JavaScript."""

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import PASSWORD, WAIT_MS, Web


@pytest.fixture
def plain(web: Web, chromium: Browser) -> Iterator[Page]:
    """A page without JavaScript, nobody logged in."""
    context = chromium.new_context(java_script_enabled=False, base_url=web.url)
    context.set_default_timeout(WAIT_MS)
    yield context.new_page()
    context.close()


@pytest.fixture
def scripted(web: Web, chromium: Browser) -> Iterator[Page]:
    """A page with JavaScript, nobody logged in."""
    context = chromium.new_context(base_url=web.url)
    context.set_default_timeout(WAIT_MS)
    yield context.new_page()
    context.close()


def log_in(page: Page, password: str = PASSWORD) -> None:
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def show_clusters(page: Page) -> None:
    """Scroll to the operations on clusters: a part outside of the viewport is not drawn yet."""
    page.locator("[id^=operations-tag-]").first.wait_for()
    page.mouse.move(700, 500)
    until = time.monotonic() + WAIT_MS / 1000
    while not page.locator("#operations-tag-clusters").count():
        assert time.monotonic() < until, "the operations on clusters are not drawn"
        page.mouse.wheel(0, 600)
        page.wait_for_timeout(100)
    page.locator("#operations-tag-clusters").scroll_into_view_if_needed()


def test_login_tokens_and_logout_work_without_javascript(plain: Page, web: Web) -> None:
    plain.goto("/tokens/")
    log_in(plain, "not it")
    assert plain.get_by_label("Username").input_value() == "admin"
    assert "correct username and password" in plain.get_by_role("alert").inner_text()
    log_in(plain)
    assert plain.url == f"{web.url}/tokens/"  # The login leads to the requested page.
    plain.get_by_label("Name").fill("made by clicking")
    plain.get_by_label("read:").check()
    plain.get_by_role("button", name="Create the token").click()
    text = plain.get_by_role("textbox", name="Copy the token now").input_value()
    bearer = {"Authorization": f"Bearer {text}"}
    assert plain.context.request.get("/api/v1/pools/", headers=bearer).status == 200
    plain.get_by_role("link", name="Revoke made by clicking").click()
    plain.get_by_role("button", name="Revoke the token").click()
    assert "is revoked" in plain.get_by_role("status").inner_text()
    assert plain.context.request.get("/api/v1/pools/", headers=bearer).status == 401
    plain.get_by_role("button", name="Sign out").first.click()
    plain.goto("/tokens/")
    assert "/login/" in plain.url


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), pytest.param("dark", True, marks=pytest.mark.slow)])
def test_the_documentation_draws_itself_under_the_panels_policy(scripted: Page, scheme: str, dark: bool) -> None:
    refused: list[str] = []
    scripted.on("console", lambda message: refused.append(message.text) if message.type == "error" else None)
    scripted.emulate_media(color_scheme=scheme)
    scripted.goto("/api/docs/")
    log_in(scripted)
    show_clusters(scripted)
    scripted.locator("#operations-clusters-clusters_list .opblock-summary-control").click()
    scripted.get_by_role("button", name="Try it out").click()
    scripted.get_by_role("button", name="Execute").click()
    answer = scripted.locator(".live-responses-table tbody .response-col_status").first
    assert answer.inner_text().strip().startswith("200")
    assert scripted.evaluate("document.documentElement.classList.contains('dark-mode')") is dark
    assert refused == []


def test_the_documentation_shows_the_examples_of_a_request(scripted: Page) -> None:
    scripted.goto("/api/docs/")
    log_in(scripted)
    operation = scripted.locator("#operations-clusters-clusters_create")
    show_clusters(scripted)
    operation.locator(".opblock-summary-control").click()
    request = operation.locator(".opblock-section-request-body")
    request.locator("code", has_text="db1.example.org").wait_for()
    request.locator(".examples-select-element").select_option(
        label="A server of this host, by the directory of its Unix socket"
    )
    request.locator("code", has_text="/var/run/postgresql").wait_for()
    operation.locator(".responses-inner code", has_text="server_version").wait_for()
