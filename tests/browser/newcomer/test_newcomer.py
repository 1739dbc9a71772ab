"""The newcomer's path by clicking: log in, make a pool, copy its URI and log in with it, measure, compare."""

import re
import subprocess
import time

from playwright.sync_api import Page, expect

from tests.browser.visiting import log_in_by_form
from tests.installation import Installation

RUN_S = 3


def make_pool(page: Page, name: str) -> None:
    """Through the form; waits until the panel has proved it."""
    page.get_by_role("link", name="New pool").first.click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Pooler").select_option(label="pgbouncer")
    with page.expect_response(lambda answer: "choices" in answer.url):
        page.get_by_label("Cluster").select_option(label="demo")
    page.get_by_label("Database").select_option("app")
    with page.expect_response(lambda answer: "choices" in answer.url):
        page.get_by_label(re.compile("^User")).select_option("app")
    page.get_by_label("Size", exact=True).fill("5")
    expect(page.locator("[data-budget-line]")).to_contain_text("free")
    page.get_by_role("button", name="Create pool").click()
    expect(page.get_by_role("heading", name=re.compile(name))).to_be_visible()
    expect(page.locator("main")).to_contain_text("applied")


def copied_uri(page: Page) -> str:
    """What lands in the clipboard from the URI tab of the connection box."""
    box = page.locator("#connection")
    box.get_by_text("URI", exact=True).locator("visible=true").click()
    box.get_by_role("button", name="Copy with password").locator("visible=true").click()
    expect(box.get_by_text("Copied").locator("visible=true")).to_be_visible()
    return str(page.evaluate("() => navigator.clipboard.readText()"))


def start_both(page: Page) -> None:
    """Direct and pooled, short, from the pool's page."""
    page.get_by_role("link", name=re.compile("benchmark", re.IGNORECASE)).first.click()
    page.get_by_label("Direct and pooled").check()
    page.get_by_label("Duration").fill(str(RUN_S))
    expect(page.locator("[data-preview]")).to_contain_text(f"-T {RUN_S}")
    page.get_by_role("button", name="Start both runs").click()
    expect(page).to_have_url(re.compile(r"/runs/[0-9a-f-]{36}/"))


def test_a_newcomer_makes_a_pool_uses_it_and_measures_it(page: Page, installation: Installation) -> None:
    log_in_by_form(page, installation)
    make_pool(page, "newcomer")

    uri = copied_uri(page)
    done = subprocess.run(
        ["psql", uri, "-XAtc", "select current_user, current_database()"], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("app|app\n", ""), uri.rpartition("@")[2]

    start_both(page)
    # that they come one by one is shown where a test writes the samples: a busy machine may see them all at once
    page.wait_for_function("() => Number(document.querySelector('[data-run-id]').dataset.points) > 1")
    compare = page.get_by_role("link", name="Compare the pair")
    expect(compare).to_be_visible()
    expect(page.locator("#run-head")).to_have_attribute("data-run-status", "succeeded")

    compare.click()
    page.wait_for_load_state()
    deadline = time.monotonic() + 120  # the second run goes on after the first: the page is reloaded until it is there
    while page.get_by_text("not there yet").count() and time.monotonic() < deadline:
        page.wait_for_timeout(500)
        page.reload()
    table = page.locator("#figures .compare-table")
    expect(table).to_contain_text("direct")
    expect(table).to_contain_text("pooled")
    ratio = table.locator(".compare-ratio").filter(has_text=re.compile(r"[×x\d]"))
    why_none = page.locator("#arms").get_by_text(re.compile("suspect: .+"))  # as of a load beside busy cores
    expect(ratio.or_(why_none).first).to_be_visible()


def test_a_refused_pool_keeps_what_was_typed_and_names_the_figures(page: Page, installation: Installation) -> None:
    log_in_by_form(page, installation)
    page.goto("/pools/new/")
    page.get_by_label("Name", exact=True).fill("far-too-large")
    with page.expect_response(lambda answer: "choices" in answer.url):
        page.get_by_label("Cluster").select_option(label="demo")
    page.get_by_label("Database").select_option("app")
    page.get_by_label("Size", exact=True).fill("5000")
    page.get_by_role("button", name="Create pool").click()
    expect(page.locator("main")).to_contain_text("size 5000 is over the budget of cluster demo")
    expect(page.get_by_label("Name", exact=True)).to_have_value("far-too-large")
    expect(page.get_by_label("Size", exact=True)).to_have_value("5000")
