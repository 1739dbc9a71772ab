"""Takes the documentation's pictures of a running demo with Chromium; script/docs-pictures starts it."""

import io
import json
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from PIL import Image
from playwright.sync_api import Page, sync_playwright

PICTURES = Path(__file__).resolve().parent / "pictures"
CHROMIUM = "/usr/bin/chromium-headless-shell"
SIZE = {"width": 1200, "height": 760}
SECONDS, FRAME_EVERY_S = 20, 1.2
SHOWN_WIDTH = 1000
SELLING = "UPDATE stock SET pieces = pieces - 1"
ENDED = {"succeeded", "failed", "cancelled", "timed_out", "lost"}


class Demo:
    """The panel that `quickstart.json` of a home names."""

    def __init__(self, home: Path) -> None:
        self.facts: dict[str, str] = json.loads((home / "quickstart.json").read_text())

    def call(self, path: str, body: object = None) -> Any:  # noqa: ANN401 (JSON; who asks knows its record)
        """Send one request to the API."""
        request = urllib.request.Request(  # noqa: S310 (the demo's own address)
            f"{self.facts['url']}/api/v1/{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.facts['token']}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 (as above)
            return json.load(answer)

    def compared(self) -> list[dict[str, Any]]:
        """Start three runs on each route, a new connection for each transaction, and return them in their order."""
        (pool,) = self.call("pools/")["results"]
        options = {"clients": 8, "duration": SECONDS, "builtin": "select-only", "connect": True}
        first = self.call("runs/", {"target": {"pool": pool["id"]}, "options": options, "pair": True, "repeat": 3})
        return list(self.call(f"runs/?group={first['group']}&ordering=number")["results"])

    def wait_for(self, run: dict[str, Any], states: set[str]) -> None:
        """Wait until a run is in one of these states."""
        while self.call(f"runs/{run['id']}/")["status"] not in states:
            time.sleep(0.3)

    def log_in(self, page: Page) -> None:
        """Log in as the demo's admin."""
        page.goto(f"{self.facts['url']}/login/")
        page.fill("[name=username]", self.facts["username"])
        page.fill("[name=password]", self.facts["password"])
        page.click("main button[type=submit]")
        page.wait_for_url(f"{self.facts['url']}/")

    @contextmanager
    def blocked(self, pool: dict[str, Any]) -> Iterator[None]:
        """Let all server connections of a pool wait for a migration that was left open, and clients for these."""
        uri = self.call(f"pools/{pool['id']}/connection/?as=uri&reveal=1")["text"]
        with ExitStack() as stack:
            migration = stack.enter_context(psycopg.connect(uri, application_name="migration"))
            migration.execute("CREATE TABLE stock AS SELECT 9 AS pieces")
            migration.commit()
            migration.execute(SELLING)
            for _number in range(pool["size"] + 2):
                client = psycopg.connect(uri, application_name="shop")
                stack.callback(client.close)
                client.pgconn.send_query(SELLING.encode())
            stack.callback(migration.close)
            yield


def shrunk(png: bytes) -> Image.Image:
    """Return a picture in the width in which pages show it."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    return picture.resize((SHOWN_WIDTH, picture.height * SHOWN_WIDTH // picture.width), Image.Resampling.LANCZOS)


def still(page: Page, address: str, name: str) -> None:
    """Take a picture of a page."""
    page.goto(address)
    page.wait_for_timeout(2500)
    shrunk(page.screenshot()).save(PICTURES / f"{name}.webp", quality=78, method=6)


def moving(page: Page, demo: Demo, run: dict[str, Any], name: str) -> None:
    """Take a moving picture of a run's page, from its start to its result."""
    page.goto(f"{demo.facts['url']}/runs/{run['id']}/")
    shots = []
    while True:
        is_over = demo.call(f"runs/{run['id']}/")["status"] in ENDED
        page.wait_for_timeout(FRAME_EVERY_S * 1000)
        shots.append(page.screenshot())
        if is_over:
            break
    first, *others = map(shrunk, shots)
    times = [600] * len(others) + [2500]
    first.save(
        PICTURES / f"{name}.webp", save_all=True, append_images=others, duration=times, loop=0, quality=60, method=6
    )


def main(home: Path) -> None:
    """Take all pictures."""
    demo = Demo(home)
    url = demo.facts["url"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type]
        demo.log_in(page)
        runs = demo.compared()
        pooled = next(run for run in runs if run["target"]["pool"])
        demo.wait_for(pooled, {"running", *ENDED})
        moving(page, demo, pooled, "live-run")
        still(page, f"{url}/", "dashboard")
        (pool,) = demo.call("pools/")["results"]
        still(page, f"{url}/pools/{pool['id']}/", "pool")
        for run in runs:
            demo.wait_for(run, ENDED)
        query = "&".join(f"run={run['id']}" for run in runs)
        still(page, f"{url}/runs/compare/?{query}", "comparison")
        with demo.blocked(pool):
            still(page, f"{url}/pools/{pool['id']}/waiting/", "waiting")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
