"""When a browser has drawn the page of a run of a day, and other pages of a large installation.

    .venv/bin/python -m tests.bench.scale.paint [--database sqlite] [--home HOME] [--repeats 5]

A web process serves the records of `tests.bench.scale` to Chromium, which has an empty cache at each load. `answered`
is the end of the page's HTML, `first paint` the first text or image that was drawn (First Contentful Paint), `chart`
the moment at which the first chart has its curve. Milliseconds since the address was asked for: median and longest.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.bench import processes
from tests.bench.scale import servers
from tests.bench.scale.__main__ import HOME
from tests.bench.web import Server
from tests.chromium import launch

WITHIN_S = 30
ALL = ("answered", "first paint", "chart")
NOTES_THE_CHART = """
  const note = () => {
    const charts = [...document.querySelectorAll("canvas")].map((canvas) => window.Chart?.getChart(canvas));
    const hasCurve = (chart) => chart?.getDatasetMeta(0).data.some(({ x }) => x > 0);
    if (charts.some(hasCurve)) window.chartDrawn = performance.now();
    else requestAnimationFrame(note);
  };
  requestAnimationFrame(note);
"""
FIGURES = """() => ({
  answered: performance.getEntriesByType("navigation")[0].responseEnd,
  "first paint": performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
  chart: window.chartDrawn,
})"""


def times_ms(browser: Browser, url: str, cookie: str, awaited: tuple[str, ...]) -> dict[str, float]:
    """Load a page with an empty cache, and return what was there when."""
    name, _, value = cookie.partition("=")
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_cookies([{"name": name, "value": value, "domain": "127.0.0.1", "path": "/"}])
    page = context.new_page()
    page.add_init_script(NOTES_THE_CHART)
    page.goto(url, wait_until="load")
    deadline, found = time.monotonic() + WITHIN_S, {}
    while any(found.get(what) is None for what in awaited):  # the page's policy lets nothing wait in it
        assert time.monotonic() < deadline, f"not drawn: {found}"
        page.wait_for_timeout(20)
        found = page.evaluate(FIGURES)
    context.close()
    return {what: found[what] for what in awaited}


def measure(port: int, repeats: int) -> None:
    """Print a line for each page."""
    from django.contrib.auth.models import User

    from benchmarks.models import Run

    day = Run.objects.get(number=Run.objects.order_by("-number").values_list("number", flat=True)[:1])
    cookie = session_of(User.objects.get(username="admin"))
    pages = {"a run of a day": f"/runs/{day.pk}/", "runs": "/runs/", "pools": "/pools/", "dashboard": "/"}
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for name, path in pages.items():
            taken: dict[str, list[float]] = defaultdict(list)
            for _nth in range(repeats):
                awaited = ALL if name == "a run of a day" else ALL[:2]
                for what, at in times_ms(browser, f"http://127.0.0.1:{port}{path}", cookie, awaited).items():
                    taken[what].append(at)
            shown = (
                f"{what} {statistics.median(all_ms):.0f} (at most {max(all_ms):.0f})" for what, all_ms in taken.items()
            )
            print(f"{name}, ms: {'; '.join(shown)}", flush=True)
        browser.close()


def session_of(user: object) -> str:
    """Return the cookie of a browser in which this person is logged in."""
    from django.test import Client

    client = Client()
    client.force_login(user)  # type: ignore[arg-type]  # a User, whose module can't be imported above
    return client.cookies.output(header="", attrs=[]).strip()


def main() -> None:
    """Start the server and measure."""
    processes.end_all_on_sigterm()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--home", type=Path, default=HOME, help="where tests.bench.scale keeps its databases")
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    home = asked.home.absolute()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pooldeck-bench-")))
        url = f"sqlite:///{home / 'scale.sqlite3'}"
        if asked.database == "postgresql":
            url = stack.enter_context(servers.postgresql(home / "postgresql"))
        redis = stack.enter_context(servers.redis(home / "redis"))
        named = {"DJANGO_SETTINGS_MODULE": "tests.settings", "POOLDECK_HOME": str(home), "POOLDECK_TEST_WORKER": ""}
        os.environ.update(named | {"DATABASE_URL": url, "REDIS_URL": redis})
        import django

        django.setup()
        from tests import seeds
        from tests.bench.scale import seeding

        seeding.fill_once()
        os.environ["POOLDECK_HOME"] = str(folder)  # of the server, where its static files are
        copied_from = Path(tempfile.gettempdir()) / "pooldeck-bench-seeds"
        copied_from.mkdir(exist_ok=True)
        seeds.fill(copied_from, folder)
        measure(stack.enter_context(Server(folder, "")).port, asked.repeats)


if __name__ == "__main__":
    main()
