"""What the five main pages cost a visitor with an empty cache: requests, transferred bytes, time until loaded.

python -m tests.bench.pages
"""

import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tests.installation import Api, Installation

RUN = {"clients": 2, "threads": 1, "duration": 3}
SEEN_S = 60.0


def main() -> None:
    """Start a demo, visit each page in a browser of its own, and print the table."""
    with tempfile.TemporaryDirectory(prefix="pooldeck-bench-") as folder:
        home = Path(folder) / "home"
        with Installation(home) as panel, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            print("| page | requests | kB | loaded, ms |\n|---|---|---|---|")
            for name, path in pages(panel.api).items():
                requests, size, loaded_ms = cost(browser, f"{panel.url}{path}")
                print(f"| {name} | {requests} | {size / 1000:.0f} | {loaded_ms:.0f} |", flush=True)
            browser.close()


def pages(api: Api) -> dict[str, str]:
    """Return name → path; a run is carried out for the last."""
    (pool, *_) = api.get("pools/")["results"]
    run = api.post("runs/", {"target": {"pool": pool["id"]}, "options": RUN})
    api.wait(f"runs/{run['id']}/", "status", {"succeeded"}, SEEN_S)
    lists = {"dashboard": "/", "pools": "/pools/", "runs": "/runs/"}
    return lists | {"a pool": f"/pools/{pool['id']}/", "a run": f"/runs/{run['id']}/"}


def cost(browser: Browser, url: str) -> tuple[int, int, float]:
    """Return requests, transferred bytes and the time until `load` of one visit with an empty cache."""
    context = browser.new_context()
    page = context.new_page()
    events = context.new_cdp_session(page)
    events.send("Network.enable")
    sizes: list[int] = []
    events.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
    page.goto(url)
    page.wait_for_load_state("networkidle") if "/runs/" not in url else page.wait_for_timeout(2000)
    timing: dict[str, Any] = page.evaluate("performance.getEntriesByType('navigation')[0].toJSON()")
    context.close()
    return len(sizes), sum(sizes), float(timing["loadEventEnd"])


if __name__ == "__main__":
    main()
