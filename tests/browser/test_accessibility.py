"""Every page can be read and used by everybody, as far as axe-core can tell, light and dark, wide and narrow."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.visiting import log_in
from tests.installation import Installation

PLAIN = ["/", "/clusters/", "/clusters/new/", "/poolers/", "/poolers/new/", "/pools/", "/pools/new/", "/tokens/"]
PLAIN += ["/shelf/", "/shelf/new/", "/tools/", "/events/", "/events/thresholds/"]
BENCHMARKS = ["/runs/", "/runs/new/", "/runs/new/?engine=http", "/runs/import/", "/runs/compare/"]
BENCHMARKS += ["/datasets/", "/datasets/new/", "/scripts/", "/scripts/new/"]
BENCHMARKS += ["/generators/", "/ceilings/", "/ceilings/new/"]
BENCHMARKS += ["/settings-profiles/", "/settings-profiles/new/"]
BENCHMARKS += ["/settings-profiles/propose/?memory_mb=8192&cpus=4&disk=ssd&max_connections=100"]
BENCHMARKS += ["/experiments/", "/playbooks/new/?like=burst", "/playbooks/burst/"]
ONLY_VIOLATIONS = {"resultTypes": ["violations"]}  # of what passes, axe-core then describes one element of each rule
# Contrast takes three quarters of axe-core's time. What shares its colors, font and backgrounds shares the verdict, so
# three elements of each kind are looked at: one may be disabled, and then passes whatever its contrast is.
UNFOLD_AND_MARK = """() => {
    for (const folded of document.querySelectorAll("details")) folded.open = true;
    const kinds = new Map();
    for (const element of document.querySelectorAll("body *")) {
        const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
        if (!hasText && !element.matches("input, select, textarea")) continue;
        if (!element.checkVisibility({ visibilityProperty: true })) continue;
        const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element);
        const kind = [element.localName, color, fontSize, fontWeight, textShadow];
        for (let behind = element; behind; behind = behind.parentElement) {
            const { backgroundColor, backgroundImage, opacity, position } = getComputedStyle(behind);
            kind.push(backgroundColor, backgroundImage, opacity);
            if (position !== "static") kind.push(position, behind.className); // it may be above another background
        }
        const [key, count] = [kind.join(), kinds.get(kind.join()) ?? 0];
        kinds.set(key, count + 1);
        element.toggleAttribute("data-contrast", count < 3);
    }
    axe.configure({ rules: [{ id: "color-contrast", selector: "[data-contrast]" }] });
}"""
LIMITS = [{"metric": "tps", "at_least": 1}, {"metric": "latency_p95_ms", "at_most": 0.001}]
OF_RECORD = ["", "edit/", "delete/"]
OF_POOL = ["clients/", "mode/", "console/pause/", "monitoring/?range=live", "monitoring/?range=hour"]
OF_POOLER = ["monitoring/", "settings/", "settings/users/", "settings/files/", "drift/"]
OF_POOLER += ["revisions/", "revisions/1/", "revisions/1/rollback/", "console/pools/"]
OF_PGPOOL = ["", "nodes/", "settings/"]
OF_CLUSTER = ["databases/", "databases/new/", "databases/drop/?name=app"]
OF_CLUSTER += ["roles/", "roles/new/", "roles/reset-password/?name=app"]
OF_CLUSTER += ["nodes/", "nodes/new/", "insights/", "monitoring/", "inbound-users/"]
# Drawn by the template of a page above, with other words in it.
ALIKE = ["/runs/new/?preset=worth", "/runs/new/?engine=sysbench", "/runs/new/?engine=jmeter"]
ALIKE += ["/datasets/new/?engine=http", "/settings-profiles/propose/", "/playbooks/reconnect/"]
ALIKE_OF_POOLER = [f"console/{word}/" for word in ("clients", "databases", "config")]
ALIKE_OF_PGPOOL = ["console/", "revisions/", "drift/"]
ALIKE_OF_CLUSTER = ["databases/edit/?name=app", "roles/edit/?name=app", "roles/drop/?name=app"]
ALIKE_OF_RECORD = ["edit/", "delete/"]


@pytest.fixture(scope="module")
def pages(installation: Installation) -> dict[str, list[str]]:
    """The addresses of all pages by subject, each with something on it."""
    api = installation.api
    demo = next(pool for pool in api.get("pools/")["results"] if pool["name"] == "app")
    options = {"builtin": "tpcb-like", "clients": 2, "threads": 1, "duration": 2, "rate": 100}
    options |= {"warm_up": 1, "idle_connections": 2, "report_per_command": True}
    asked = {"target": {"pool": demo["id"]}, "options": options, "thresholds": LIMITS}
    runs = [api.post("runs/", asked)["id"] for _ in range(2)]
    for run in runs:
        api.wait(f"runs/{run}/", "status", {"succeeded"}, 60)
    pool, pooler, cluster = f"/pools/{demo['id']}/", f"/poolers/{demo['pooler']}/", f"/clusters/{demo['cluster']}/"
    pgpool = next(f"/poolers/{one['id']}/" for one in api.get("poolers/")["results"] if one["kind"] == "pgpool")
    profile = api.post("settings-profiles/", {"name": "looked at", "values": {"work_mem": "16MB", "fsync": "off"}})
    script = api.post("scripts/", {"name": "looked at", "text": "SELECT 1;\n"})
    api.call("PATCH", f"scripts/{script['id']}/", {"text": "\\set n 2\nSELECT :n;\n"})
    profile_page, script_page = f"/settings-profiles/{profile['id']}/", f"/scripts/{script['id']}/"
    library = [profile_page, f"{profile_page}?cluster={demo['cluster']}", script_page]
    library.append(f"/experiments/advice/{demo['id']}/")
    alike = {pool: ["console/kill/"], pooler: ALIKE_OF_POOLER, pgpool: ALIKE_OF_PGPOOL, cluster: ALIKE_OF_CLUSTER}
    alike |= {profile_page: ALIKE_OF_RECORD, script_page: ALIKE_OF_RECORD}
    return {
        "panel": PLAIN,
        "pool": [pool + word for word in (*OF_RECORD, *OF_POOL)],
        "pooler": [pooler + word for word in (*OF_RECORD, *OF_POOLER)] + [pgpool + word for word in OF_PGPOOL],
        "cluster": [cluster + word for word in (*OF_RECORD, *OF_CLUSTER)],
        "benchmarks": [*BENCHMARKS, *library, f"/runs/{runs[0]}/", f"/runs/compare/?run={runs[0]}&run={runs[1]}"],
        "alike": [*ALIKE, *(address + word for address, words in alike.items() for word in words)],
    }


@pytest.fixture(scope="module")
def drifted(installation: Installation) -> Iterator[str]:
    """The page of a drift with its diff; the file is as it was afterwards."""
    api = installation.api
    demo = next(pool for pool in api.get("pools/")["results"] if pool["name"] == "app")
    pooler = api.get(f"poolers/{demo['pooler']}/")
    entries = Path(pooler["config_dir"]) / "pooldeck.ini"
    written = entries.read_text()
    entries.write_text(written.replace(f"pool_size={demo['size']}", f"pool_size={demo['size'] + 1}"))
    yield f"/poolers/{pooler['id']}/drift/"
    entries.write_text(written)


def faults(page: Page) -> list[str]:
    """What is wrong in it, folded parts too, with the first element it was found in."""
    axe = Axe()
    page.evaluate(axe.axe_script)
    page.evaluate(UNFOLD_AND_MARK)
    report: dict[str, Any] = page.evaluate("(options) => axe.run(options)", ONLY_VIOLATIONS)
    found = report["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), pytest.param("dark", 390, marks=pytest.mark.slow)])
def test_the_login_page_keeps_nobody_out(visit: Callable[..., Page], scheme: str, width: int) -> None:
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 900})
    page.goto("/login/")
    assert faults(page) == []


@pytest.mark.parametrize(
    "subject",
    ["panel", "pool", "pooler", "cluster", "benchmarks", pytest.param("alike", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), pytest.param("dark", 390, marks=pytest.mark.slow)])
def test_no_page_keeps_anybody_out(
    visit: Callable[..., Page],
    installation: Installation,
    pages: dict[str, list[str]],
    scheme: str,
    width: int,
    subject: str,
) -> None:
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 900})
    log_in(page, installation)
    found = {}
    for address in pages[subject]:
        answer = page.goto(address)
        assert answer
        assert answer.ok, address
        found[address] = faults(page)
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            found[address].append("wider than the window")
    assert {address: reported for address, reported in found.items() if reported} == {}


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), pytest.param("dark", 390, marks=pytest.mark.slow)])
def test_the_diff_of_a_drift_keeps_nobody_out(
    visit: Callable[..., Page], installation: Installation, drifted: str, scheme: str, width: int
) -> None:
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 900})
    log_in(page, installation)
    page.goto(drifted.removesuffix("drift/"))
    page.get_by_role("button", name="Check now").click()
    page.wait_for_load_state()
    page.goto(drifted)
    expect(page.locator(".pd-diff-added")).to_contain_text("pool_size=")
    assert faults(page) == []
    assert not page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
