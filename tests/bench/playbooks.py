"""The effects of the published experiments on this machine: each playbook in its quick form, by API, on the demo.

    .venv/bin/python -m tests.bench.playbooks [reconnect burst tuning app-pool idle-tax] [--screenshots FOLDER]

The tests assert what holds on a busy machine too; how large an effect is, with its interval, is measured here. Prints
the arms with ratio and verdict, and the conclusion. With a folder, each experiment's page is also drawn, wide and
narrow, light and dark.
"""

import argparse
import itertools
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.bench import processes
from tests.chromium import launch
from tests.installation import Installation

PLAYBOOKS = ["reconnect", "burst", "tuning", "app-pool", "idle-tax"]
ENDED = {"succeeded", "failed", "cancelled"}
WITHIN_S = 900
GENERATORS_WITHIN_S = 120


def main() -> None:
    """Carry the playbooks out, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("playbooks", nargs="*", default=PLAYBOOKS)
    parser.add_argument("--screenshots", type=Path)
    asked = parser.parse_args()
    processes.end_all_on_sigterm()
    with tempfile.TemporaryDirectory(prefix="pooldeck-bench-") as folder, Installation(Path(folder) / "home") as panel:
        wait_for_generators(panel)
        ended = {name: carry_out(panel, name) for name in asked.playbooks}
        if asked.screenshots:
            draw(panel, ended, asked.screenshots)
    print(f"load average of this machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


def wait_for_generators(panel: Installation) -> None:
    """Wait until the demo's second generator is alive, which it starts once it serves: "other host" needs it."""
    deadline = time.monotonic() + GENERATORS_WITHIN_S
    while (alive := sum(one["alive"] for one in panel.api.get("generators/")["results"])) < 2:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{alive} of 2 generators were alive after {GENERATORS_WITHIN_S} s")
        time.sleep(1)


def carry_out(panel: Installation, playbook: str) -> str:
    """Run one on the demo's cluster, print what it found, and return its id."""
    began = time.monotonic()
    cluster = panel.api.get("clusters/")["results"][0]["id"]
    started = panel.api.post("experiments/", {"playbook": playbook, "cluster": cluster, "quick": True})
    ended = panel.api.wait(f"experiments/{started['id']}/", "state", ENDED, WITHIN_S)
    print(f"{playbook}: {ended['state']} after {time.monotonic() - began:.0f} s {' '.join(ended['reasons'])}")
    for arm in ended["arms"]:
        print(f"  {arm['label']}: {in_words(arm)}")
    print(f"  {ended['conclusion']}", flush=True)
    return str(started["id"])


def in_words(arm: dict[str, Any]) -> str:
    """Return what was measured of an arm; why not, where it was left out."""
    if arm["skipped"]:
        return f"left out: {arm['skipped']}"
    figures = ", ".join(f"{name} {value:,.4g}" for name, value in arm["figures"].items() if value is not None)
    if arm["ratio"] is None or arm["interval"] is None:
        return f"{figures} ({arm['outcome']})"
    low, high = arm["interval"]
    return f"{figures}; ×{arm['ratio']:.2f} (×{low:.2f} to ×{high:.2f}), {arm['verdict']}"


def draw(panel: Installation, ended: dict[str, str], folder: Path) -> None:
    """Write a picture of each experiment's page in each size and scheme."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for width, scheme in itertools.product((1440, 390), ("light", "dark")):
            viewport = {"width": width, "height": 900}
            page = browser.new_page(viewport=viewport, color_scheme=scheme, base_url=panel.url)
            page.goto("/login/")
            page.fill("[name=username]", panel.quickstart["username"])
            page.fill("[name=password]", panel.quickstart["password"])
            page.click("button[type=submit]")
            page.wait_for_url("**/")
            for name, pk in ended.items():
                page.goto(f"/experiments/{pk}/")
                page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
