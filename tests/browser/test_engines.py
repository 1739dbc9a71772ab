"""sysbench and HTTP by hand: a dataset made, a run watched, its result read."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import log_in
from tests.installation import Installation

TAKES_MS = 90_000  # one run on a busy machine


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


def prepare(page: Page, engine: str, size: str, wanted: str) -> None:
    """Make the tables of an engine in the demo's database."""
    page.goto(f"/datasets/new/?engine={engine}")
    expect(page.get_by_role("navigation", name="Load program").locator("[aria-current]")).to_have_text(engine)
    page.get_by_label("Cluster").select_option(index=1)
    page.get_by_label("Database", exact=True).fill("app")
    page.locator(f"[name={size}]").fill(wanted)
    page.get_by_role("button", name="Prepare").click()
    expect(page.locator("#run-result")).to_contain_text("is in app", timeout=TAKES_MS)


def start(page: Page, engine: str, **values: str) -> None:
    """A short run through the demo's pool."""
    page.goto("/runs/new/")
    page.get_by_role("navigation", name="Load program").get_by_role("link", name=engine).click()
    expect(page.locator("input[name=engine]")).to_have_value(engine)
    page.locator("[name=pool]").select_option(index=1)
    for name, value in values.items():
        page.locator(f"[name={name}]").fill(value)
    expect(page.locator("#commands pre")).to_contain_text(
        {"sysbench": "sysbench", "http": "load_programs.http_client"}[engine]
    )
    page.get_by_role("button", name="Start the run").click()
    expect(page.locator("#result-title")).to_be_visible(timeout=TAKES_MS)
    expect(page.locator("#run-head")).to_contain_text("succeeded")


def test_a_sysbench_run_by_hand(page: Page) -> None:
    prepare(page, "sysbench", "table_size", "2000")
    start(page, "sysbench", threads="2", duration="2", table_size="2000")
    expect(page.locator("#run-result")).to_contain_text("From the program's own summary (sysbench)")
    expect(page.get_by_role("region", name="Latencies", exact=True)).to_contain_text("p95")
    expect(page.locator("[data-chart=tps] .chart-source")).to_have_text("interval reports of sysbench")
    page.goto("/datasets/")
    expect(page.get_by_role("row", name="sysbench")).to_contain_text("1 × 2,000 rows")


def test_the_button_stays_under_the_pointer_while_the_database_is_examined(page: Page) -> None:
    page.goto("/datasets/new/?engine=sysbench")
    button = page.get_by_role("button", name="Prepare")
    before = button.bounding_box()
    page.get_by_label("Cluster").select_option(index=1)
    page.get_by_label("Database", exact=True).fill("app")
    page.locator("[name=table_size]").fill("2000")
    expect(page.locator("#facts")).to_contain_text("Free on disk")
    assert button.bounding_box() == before


def test_an_http_run_by_hand(page: Page) -> None:
    prepare(page, "http", "rows", "2000")
    start(page, "http", concurrency="2", duration="2")
    expect(page.locator("#run-result")).to_contain_text("From the program's own summary (HTTP load)")
    expect(page.locator("[data-chart=tps]")).to_contain_text("requests per second")


def test_what_can_not_be_run_says_why(page: Page) -> None:
    page.goto("/runs/new/?engine=http")
    page.locator("[name=url]").evaluate("field => field.closest('details').open = true")
    page.locator("[name=url]").fill("http://elsewhere.example/")
    expect(page.locator("#commands")).to_contain_text("name their hosts in POOLDECK_HTTP_ALLOW")
    missing = page.get_by_role("navigation", name="Load program").locator(".disabled")
    expect(missing).to_contain_text("jmeter")
    why = missing.get_attribute("title") or ""  # what comes first of what a JMeter needs
    assert "POOLDECK_JMETER" in why or "java" in why
    expect(page.get_by_text(f"jmeter is not available: {why}")).to_be_visible()
