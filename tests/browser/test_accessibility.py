"""Every page can be read and used by everybody, as far as axe-core can tell, light and dark, wide and narrow."""

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.visiting import log_in
from tests.installation import Installation

pytestmark = pytest.mark.browser

GRAVE = ("serious", "critical")
PLAIN = ["/", "/clusters/", "/clusters/new/", "/poolers/", "/poolers/new/", "/pools/", "/pools/new/", "/tokens/"]
PLAIN += ["/runs/", "/runs/new/", "/runs/new/?preset=worth", "/runs/import/", "/runs/compare/"]
PLAIN += ["/datasets/", "/datasets/new/", "/events/", "/events/thresholds/"]


@pytest.fixture(scope="module")
def pages(installation: Installation) -> list[str]:
    """The addresses of all pages, each with something on it."""
    api = installation.api
    demo = next(pool for pool in api.get("pools/")["results"] if pool["name"] == "app")
    options = {"builtin": "tpcb-like", "clients": 2, "threads": 1, "duration": 2, "report_per_command": True}
    runs = [api.post("runs/", {"target": {"pool": demo["id"]}, "options": options})["id"] for _ in range(2)]
    for run in runs:
        api.wait(f"runs/{run}/", "status", {"succeeded"}, 60)
    of_records = [f"/pools/{demo['id']}/", f"/poolers/{demo['pooler']}/", f"/clusters/{demo['cluster']}/"]
    doings = [address + word for address in of_records for word in ("edit/", "delete/")]
    doings += [f"/pools/{demo['id']}/console/{verb}/" for verb in ("pause", "kill")]
    doings += [f"/poolers/{demo['pooler']}/settings/{page}" for page in ("", "users/", "files/")]
    doings += [f"/poolers/{demo['pooler']}/console/{word}/" for word in ("pools", "clients", "databases", "config")]
    return [*PLAIN, *of_records, *doings, f"/runs/{runs[0]}/", f"/runs/compare/?run={runs[0]}&run={runs[1]}"]
    doings += [f"/pools/{demo['id']}/monitoring/?range={range_}" for range_ in ("live", "hour")]


def faults(page: Page) -> list[str]:
    """What is grave, with the first element it was found in."""
    found: list[dict[str, Any]] = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in GRAVE]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_no_page_keeps_anybody_out(
    visit: Callable[..., Page], installation: Installation, pages: list[str], scheme: str, width: int
) -> None:
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 900})
    page.goto("/login/")
    found = {"/login/": faults(page)}
    log_in(page, installation)
    for address in pages:
        page.goto(address)
        found[address] = faults(page)
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            found[address].append("wider than the window")
    assert {address: said for address, said in found.items() if said} == {}
