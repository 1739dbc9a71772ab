"""A real run's page with everything that happened around the load drawn under it."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import log_in
from tests.installation import Installation

OF_SAMPLES = ["tps", "latency"]
OF_POOL = ["split", "pool", "maxwait"]
OF_SERVER = ["waits", "states", "transactions", "blocks", "io"]
OF_MORE = "pooler"  # of all pools together, where others than the run's are at work
OF_HERE = ["processors", "memory", "disks", "generator"]
POINTS = """() => Object.fromEntries(window.pooldeckRun.stack.charts.map((one) => [
  one.root.dataset.chart,
  Math.max(0, ...one.lines.map(([{ points }]) => points.list.filter(({ y }) => y !== null).length)),
]))"""


def start(installation: Installation, **options: Any) -> str:
    """The id of a run through the demo's pool, writing, with more clients than the pool has connections."""
    pool = next(one for one in installation.api.get("pools/")["results"] if one["name"] == "app")
    load = {"builtin": "tpcb-like", "clients": 16, "threads": 2, "duration": 8, "progress": 1, "rate": 300} | options
    return str(installation.api.post("runs/", {"target": {"pool": pool["id"]}, "options": load})["id"])


def finished(installation: Installation, run: str) -> dict[str, Any]:
    found: dict[str, Any] = installation.api.wait(f"runs/{run}/", "status", {"succeeded", "failed"}, 120)
    assert found["status"] == "succeeded", found["error"]
    return found


@pytest.fixture(scope="module")
def run(installation: Installation) -> str:
    """A run that has ended."""
    made = start(installation)
    finished(installation, made)
    return made


def shown(page: Page) -> list[str]:
    keys: list[str] = page.evaluate(
        "[...document.querySelectorAll('[data-chart]')].filter((one) => !one.hidden).map((one) => one.dataset.chart)"
    )
    return keys


def drawn(page: Page, least: int) -> dict[str, int]:
    """How many points each chart has, once none has fewer than that; each is scrolled to, as some draw only then."""
    deadline = time.monotonic() + 60
    while True:
        for key in shown(page):
            page.locator(f'[data-chart="{key}"]').scroll_into_view_if_needed()
        points: dict[str, int] = page.evaluate(POINTS)
        if min(points.values(), default=0) >= least:
            return points
        assert time.monotonic() < deadline, points
        page.wait_for_timeout(200)


def test_each_chart_comes_up_with_points_while_the_load_is_on(visitor: Page, installation: Installation) -> None:
    log_in(visitor, installation)
    made = start(installation, duration=10)  # A busy machine does not observe every second.
    visitor.goto(f"/runs/{made}/")
    expect(visitor.locator("#result-title")).to_be_visible()
    finished(installation, made)
    points = drawn(visitor, least=4)
    assert set(points) - {OF_MORE} == {*OF_SAMPLES, *OF_POOL, *OF_SERVER, *OF_HERE}


def test_a_finished_run_has_the_same_charts_in_their_order_on_one_axis(
    visitor: Page, installation: Installation, run: str
) -> None:
    log_in(visitor, installation)
    visitor.goto(f"/runs/{run}/")
    expect(visitor.locator('[data-chart="generator"]')).to_be_visible()
    assert [key for key in shown(visitor) if key != OF_MORE] == [*OF_SAMPLES, *OF_POOL, *OF_SERVER, *OF_HERE]
    areas = (
        "window.pooldeckRun.stack.charts.map(({ chart: { chartArea: a, scales: { x } } }) => [a.left, x.min, x.max])"
    )
    assert len({tuple(area) for area in visitor.evaluate(areas)}) == 1
    drawn(visitor, least=3)


def test_waits_are_named_with_their_types_and_can_be_hidden(
    visitor: Page, installation: Installation, run: str
) -> None:
    log_in(visitor, installation)
    visitor.goto(f"/runs/{run}/")
    legend = visitor.locator('[data-chart="waits"] .chart-legend')
    wait = legend.get_by_role("button", name="Client: ClientRead")
    expect(wait).to_have_attribute("aria-pressed", "true")
    wait.click()
    expect(wait).to_have_attribute("aria-pressed", "false")
    expect(visitor.locator('[data-chart="states"] .chart-legend')).to_contain_text("idle in transaction")
    expect(visitor.locator('[data-chart="states"] .chart-legend').get_by_text("hidden")).to_be_hidden()


def test_a_run_that_failed_before_its_first_figure_has_no_empty_charts(
    visitor: Page, installation: Installation
) -> None:
    log_in(visitor, installation)
    broken = [{"text": "SELECT * FROM no_such_table;", "weight": 1}]
    made = start(installation, builtin=None, scripts=broken, progress=5)
    installation.api.wait(f"runs/{made}/", "status", {"failed"}, 120)
    visitor.goto(f"/runs/{made}/")
    expect(visitor.locator("#run-result")).to_contain_text("no transaction was processed")
    assert {"tps", "latency"} & set(shown(visitor)) == set()


@pytest.mark.parametrize("width", [1440, 390])
def test_legends_cover_no_titles(visit: Callable[..., Page], installation: Installation, run: str, width: int) -> None:
    page = visit(viewport={"width": width, "height": 900})
    log_in(page, installation)
    page.goto(f"/runs/{run}/")
    expect(page.locator('[data-chart="generator"]')).to_be_visible()
    overlap = """[...document.querySelectorAll('[data-chart]:not([hidden])')].filter((chart) => {
      const [title, legend, box] = ['.chart-title', '.chart-legend', '.chart-box']
        .map((name) => chart.querySelector(name).getBoundingClientRect());
      const beside = legend.left >= title.right || title.left >= legend.right;
      return (!beside && legend.top < title.bottom) || legend.bottom > box.top + 1;
    }).map((chart) => chart.dataset.chart)"""
    assert page.evaluate(overlap) == []


def test_without_javascript_the_looks_are_tables(
    visit: Callable[..., Page], installation: Installation, run: str
) -> None:
    page = visit(java_script_enabled=False)
    log_in(page, installation)
    page.goto(f"/runs/{run}/")
    for heading in ("the pooler", "the server", "the server's host", "the generator"):
        expect(page.get_by_role("heading", name=f"Observations: {heading}", exact=True)).to_be_visible()
    expect(page.get_by_role("region", name="Observations: the server", exact=True)).to_contain_text("Client:ClientRead")
