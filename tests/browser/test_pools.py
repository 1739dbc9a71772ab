"""The pages of pools by clicking, with and without JavaScript, before a whole installation."""

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import POOL_PAGE, RUN_PAGE, fill_pool_form, forget_pool, id_at, log_in, make_pool
from tests.installation import Installation


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


@pytest.fixture
def pool(installation: Installation) -> Iterator[dict[str, Any]]:
    """An applied pool beside the demo's."""
    made = make_pool(installation, "clicked")
    yield made
    forget_pool(installation, made["id"])


def test_a_new_pool_is_pending_first_and_then_applied_with_what_proved_it(
    page: Page, installation: Installation
) -> None:
    fill_pool_form(page, "proved", 3)
    with page.expect_response(lambda answer: bool(POOL_PAGE.search(answer.url)) and answer.ok) as shown:
        page.get_by_role("button", name="Create pool").click()
    assert re.search(r'id="pool-state"\s*>.{0,400}?pending\s*</span>', shown.value.text(), re.DOTALL)
    expect(page.locator("#pool-state")).to_have_text("applied")
    expect(page.locator(".pd-step-proof")).to_contain_text(["logged in"])
    expect(page.locator("#pool-files")).to_contain_text("in sync")
    forget_pool(installation, id_at(page, POOL_PAGE))


def test_a_size_over_the_budget_is_refused_beside_its_field(page: Page) -> None:
    fill_pool_form(page, "far-too-large", 5000)
    expect(page.locator("[data-budget-line]")).to_contain_text("over the budget")
    page.get_by_role("button", name="Create pool").click()
    size = page.get_by_label("Size", exact=True)
    expect(page.locator(".pd-field-invalid")).to_contain_text(
        "size 5000 is over the budget of cluster demo: 97 available"
    )
    expect(size).to_have_value("5000")
    assert size.evaluate("field => field.scrollWidth <= field.clientWidth")  # all four digits can be read
    page.get_by_role("alert").get_by_role("link", name="Size").click()
    expect(size).to_be_focused()


def test_an_answer_that_makes_the_form_longer_leaves_its_button_where_it_is(page: Page) -> None:
    page.goto("/pools/new/")
    button = page.get_by_role("button", name="Create pool")
    length, place = page.evaluate("document.body.scrollHeight"), button.bounding_box()
    with page.expect_response(lambda answer: "mode-check" in answer.url):
        page.get_by_label("Database").select_option("app")
        page.locator("[name=user]").select_option("app")
    expect(page.locator("#mode-check")).to_contain_text("Sources checked")
    assert page.evaluate("document.body.scrollHeight") > length
    assert button.bounding_box() == place


def test_what_is_typed_while_the_cluster_is_asked_stays(page: Page) -> None:
    page.goto("/pools/new/")
    page.route("**/pools/choices/**", lambda route: (page.wait_for_timeout(500), route.continue_()))
    with page.expect_response(lambda answer: "choices" in answer.url):
        page.locator("[name=user]").select_option("app")
        page.get_by_label("Database").select_option("app")
        page.get_by_label("Size", exact=True).fill("7")
    expect(page.locator("[data-budget-line]")).to_contain_text("free ones left")
    expect(page.get_by_label("Database")).to_have_value("app")
    expect(page.get_by_label("Size", exact=True)).to_have_value("7")


def test_another_pooler_brings_its_own_size_modes_and_settings(page: Page) -> None:
    page.goto("/pools/new/")
    page.get_by_label("Size", exact=True).fill("7")
    page.get_by_label("Pooler").select_option(label="pgpool")
    expect(page.get_by_label("Size", exact=True)).not_to_be_editable()
    expect(page.get_by_label("Size", exact=True)).not_to_have_value("7")
    expect(page.locator("#pool-modes")).to_contain_text("transaction mode needs a PgBouncer")
    expect(page.locator("#pool-further")).to_be_empty()
    page.get_by_label("Pooler").select_option(label="pgbouncer")
    expect(page.get_by_label("Size", exact=True)).to_be_editable()
    expect(page.locator("#pool-modes")).not_to_contain_text("needs a PgBouncer")


def test_a_reserve_is_counted_as_it_is_typed(page: Page) -> None:
    page.goto("/pools/new/")
    page.get_by_label("Size", exact=True).fill("10")
    left = page.locator("[data-budget-line] strong")
    before = int(left.inner_text())
    page.get_by_text("Further settings").click()
    page.get_by_label("reserve_pool").fill("4")
    expect(left).to_have_text(str(before - 4))


def test_an_edit_made_stale_shows_both_values_and_can_be_saved_over(
    visit: Callable[..., Page], installation: Installation, pool: dict[str, Any]
) -> None:
    page = visit()
    log_in(page, installation)
    page.goto(f"/pools/{pool['id']}/edit/")
    installation.api.call("PATCH", f"pools/{pool['id']}/", {"size": 6, "version": pool["version"]})
    page.get_by_label("Size", exact=True).fill("5")
    with page.expect_response(lambda answer: "/edit/" in answer.url and answer.request.method == "POST") as refused:
        page.get_by_role("button", name="Save and apply").click()
    assert refused.value.status == 409
    row = page.get_by_role("alert").get_by_role("row").filter(has_text="Size")
    expect(row.get_by_role("cell")).to_have_text(["5", "6"])
    expect(page.get_by_label("Size", exact=True)).to_have_value("5")
    page.get_by_role("button", name="Save and apply").click()
    expect(page).to_have_url(POOL_PAGE)
    assert installation.api.get(f"pools/{pool['id']}/")["size"] == 5


def test_the_password_is_shown_when_asked_for_and_hidden_again(
    page: Page, installation: Installation, pool: dict[str, Any]
) -> None:
    revealed = installation.api.get(f"pools/{pool['id']}/connection/?as=uri&reveal=1")["text"]
    hidden = installation.api.get(f"pools/{pool['id']}/connection/?as=uri")["text"]
    page.goto(f"/pools/{pool['id']}/")
    text = page.locator("#connection pre").locator("visible=true")
    expect(text).to_have_text(hidden)
    page.get_by_role("button", name="Show password").click()
    expect(text).to_have_text(revealed)
    page.get_by_role("button", name="Hide password").click()
    expect(text).to_have_text(hidden)


def test_a_pool_is_removed_after_a_look_at_what_that_means(
    page: Page, installation: Installation, pool: dict[str, Any]
) -> None:
    page.goto(f"/pools/{pool['id']}/")
    page.get_by_role("link", name="Remove this pool").click()
    expect(page.locator("main")).to_contain_text("its 4 connections go back to the budget of cluster demo")
    page.get_by_role("button", name="Remove it").click()
    page.goto("/pools/")
    row = page.get_by_role("link", name="clicked", exact=True)
    deadline = time.monotonic() + 120
    while row.count() and time.monotonic() < deadline:  # a worker takes it off the pooler first
        page.wait_for_timeout(250)
        page.goto("/pools/")
    expect(page.get_by_role("link", name="app", exact=True)).to_be_visible()
    expect(row).to_have_count(0)


def test_without_javascript_a_pool_is_made_and_a_run_through_it_started(
    visit: Callable[..., Page], installation: Installation
) -> None:
    page = visit(java_script_enabled=False)
    log_in(page, installation)
    fill_pool_form(page, "plain", 3)
    page.get_by_role("button", name="Create pool").click()
    pool_id = id_at(page, POOL_PAGE)
    installation.api.wait(f"pools/{pool_id}/", "state", {"applied"}, 30)
    page.reload()
    expect(page.locator("#pool-state")).to_have_text("applied")
    page.get_by_role("link", name="Run a benchmark").first.click()
    page.locator("[name=clients]").fill("2")
    page.locator("[name=duration]").fill("2")
    page.get_by_role("button", name="Start the run").click()
    run_id = id_at(page, RUN_PAGE)
    installation.api.wait(f"runs/{run_id}/", "status", {"succeeded"}, 60)
    page.reload()
    expect(page.locator("#result-title")).to_be_visible()
    expect(page.locator("noscript table tbody td").first).to_be_visible()
    forget_pool(installation, pool_id)
