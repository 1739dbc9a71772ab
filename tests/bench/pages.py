"""What the five main pages cost a visitor with an empty cache: requests, transferred bytes, time until loaded.

python -m tests.bench.pages
"""

import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tests.browser.visiting import log_in
from tests.chromium import launch
from tests.installation import Api, Installation

RUN = {"clients": 2, "threads": 1, "duration": 3}
SEEN_S = 60.0
SETTLES_MS = 2000  # time for requests that pages send after they are loaded


def main() -> None:
    """Start a demo, visit each page in a browser of its own, and print the table."""
    with tempfile.TemporaryDirectory(prefix="pooldeck-bench-") as folder:
        home = Path(folder) / "home"
        with Installation(home) as panel, sync_playwright() as playwright:
            browser = launch(playwright)
            print("| page | requests | kB | loaded, ms |\n|---|---|---|---|")
            for name, path in pages(panel.api).items():
                requests, size, loaded_ms = cost(browser, panel, path)
                print(f"| {name} | {requests} | {size / 1000:.0f} | {loaded_ms:.0f} |", flush=True)
            browser.close()


def pages(api: Api) -> dict[str, str]:
    """Return name → path; a run is carried out for the last."""
    (pool, *_) = api.get("pools/")["results"]
    run = api.post("runs/", {"target": {"pool": pool["id"]}, "options": RUN})
    api.wait(f"runs/{run['id']}/", "status", {"succeeded"}, SEEN_S)
    lists = {"dashboard": "/", "pools": "/pools/", "runs": "/runs/"}
    return lists | {"a pool": f"/pools/{pool['id']}/", "a run": f"/runs/{run['id']}/"}


def cost(browser: Browser, panel: Installation, path: str) -> tuple[int, int, float]:
    """Return requests, transferred bytes and the time until `load` of one visit with an empty cache."""
    context = browser.new_context(base_url=panel.url)
    page = context.new_page()
    page.goto("/login/")
    log_in(page, panel)
    events = context.new_cdp_session(page)
    events.send("Network.enable")
    events.send("Network.clearBrowserCache")
    sizes: list[int] = []
    events.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
    page.goto(path)
    page.wait_for_timeout(SETTLES_MS)
    timing: dict[str, Any] = page.evaluate("performance.getEntriesByType('navigation')[0].toJSON()")
    context.close()
    return len(sizes), sum(sizes), float(timing["loadEventEnd"])


if __name__ == "__main__":
    main()
