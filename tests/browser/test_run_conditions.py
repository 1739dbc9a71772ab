"""A run with conditions and thresholds, from the form to its page and its files."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.visiting import log_in
from tests.installation import Installation

ENDED_WITHIN = 120_000  # ms, on a busy machine


def make_profile(page: Page) -> None:
    page.goto("/settings-profiles/new/")
    page.get_by_label("Name", exact=True).fill("browser")
    page.get_by_label("Settings", exact=True).fill("work_mem = 16 MB")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("line 1: 'work_mem = 16 MB' is not a setting")
    page.get_by_label("Settings", exact=True).fill("work_mem = 16MB\nsynchronous_commit = off")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="browser", exact=True)).to_be_visible()


def test_a_profile_is_checked_and_a_run_with_it_fails_its_threshold(visitor: Page, installation: Installation) -> None:
    page = visitor
    log_in(page, installation)
    make_profile(page)
    page.get_by_label("Check against a cluster").select_option(label="demo")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("main")).to_contain_text("the last commits before a crash may be lost")
    expect(page.locator("main")).to_contain_text("a reload")

    page.get_by_role("link", name="Run with it").click()
    page.get_by_label("Straight to a cluster").check()
    page.locator("[name=cluster]").select_option(label="demo")
    page.locator("[name=database]").fill("app")
    page.locator("[name=duration]").fill("3")
    expect(page.locator("[name=settings_profile]")).to_have_value("browser")
    page.locator("[name=idle_connections]").fill("5")
    page.locator("[name=warm_up]").fill("1")
    page.locator("[name=rate]").evaluate("field => field.closest('details').open = true")
    page.locator("[name=rate]").fill("200")
    page.locator("summary", has_text="Thresholds").click()
    page.locator("[name=threshold_tps]").fill("900000000")
    page.get_by_role("button", name="Start the run").click()

    expect(page.locator("#run-head")).to_have_attribute("data-run-status", "succeeded", timeout=ENDED_WITHIN)
    details = page.locator("#run-details")
    expect(details).to_contain_text(re.compile(r"Throughput [\d,.]+ tps, at least 900,000,000|Throughput .* failed"))
    for part in ("browser: work_mem = 16MB, synchronous_commit = off", "5 opened in", "Warm-up, thrown away"):
        expect(details).to_contain_text(part)

    page.get_by_label("Note", exact=True).fill("the evening before")
    page.get_by_label("Tags", exact=True).fill("nightly, browser")
    page.locator("#notes").get_by_role("button", name="Save").click()
    expect(page.get_by_label("Tags", exact=True)).to_have_value("browser, nightly")
    with page.expect_download() as caught:
        page.get_by_role("link", name="page as one HTML file").click()
    exported = Path(caught.value.path()).read_text()
    assert "the evening before" in exported
    assert "<svg" in exported

    page.goto("/runs/?gate=failed")
    expect(page.get_by_role("link", name="nightly")).to_be_visible()
