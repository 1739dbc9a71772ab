"""Files of a pooler that somebody edits by hand: found, shown, and adopted or overwritten by a click."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import forget_pool, log_in, make_pool
from tests.installation import Installation

OTHERWISE = "Its files were changed by hand"


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


@pytest.fixture
def pool(installation: Installation) -> Iterator[dict[str, Any]]:
    made = make_pool(installation, "edited")
    yield made
    forget_pool(installation, made["id"])


@pytest.fixture
def entries(installation: Installation, pool: dict[str, Any]) -> Path:
    """The pooler's file of pools, in which somebody gave the pool nine connections and not four."""
    folder = installation.api.get(f"poolers/{pool['pooler']}/")["config_dir"]
    path = Path(folder) / "pooldeck.ini"
    lines = path.read_text().splitlines(keepends=True)
    edited = [line.replace("=4", "=9") if line.startswith("edited =") else line for line in lines]
    path.write_text("".join(edited))
    assert edited != lines
    return path


def look_at_the_change(page: Page, pool: dict[str, Any]) -> None:
    """Have the panel look now, and read what was changed."""
    page.goto(f"/poolers/{pool['pooler']}/")
    page.get_by_role("button", name="Check now").click()
    expect(page.get_by_role("status").filter(has_text="has drifted from what was applied")).to_be_visible()
    page.get_by_role("alert").filter(has_text=OTHERWISE).get_by_role("link").click()
    expect(page.locator(".pd-diff-removed")).to_contain_text("pool_size=4")
    expect(page.locator(".pd-diff-added")).to_contain_text("pool_size=9")
    expect(page.locator(".pd-diff-added")).to_contain_text("password=••••")


def expect_no_drift(page: Page, pool: dict[str, Any]) -> None:
    page.goto(f"/poolers/{pool['pooler']}/drift/")
    expect(page.get_by_text("No drift")).to_be_visible()


def test_a_change_by_hand_is_adopted(
    page: Page, installation: Installation, pool: dict[str, Any], entries: Path
) -> None:
    look_at_the_change(page, pool)
    page.get_by_role("button", name="Adopt the changes").click()
    expect(page.get_by_role("status").first).to_contain_text("are adopted")
    adopted = installation.api.wait(f"pools/{pool['id']}/", "size", {9}, 30)
    assert installation.api.wait(f"pools/{pool['id']}/", "state", {"applied"}, 30)["version"] >= adopted["version"]
    expect_no_drift(page, pool)


def test_a_change_by_hand_is_overwritten(
    page: Page, installation: Installation, pool: dict[str, Any], entries: Path
) -> None:
    look_at_the_change(page, pool)
    page.get_by_role("button", name="Overwrite with the panel's files").click()
    expect(page.get_by_role("status").first).to_contain_text("overwrites the manual changes on")
    installation.api.wait(f"poolers/{pool['pooler']}/config/", "state", {"in sync"}, 30)
    assert "pool_size=9" not in entries.read_text()
    assert installation.api.get(f"pools/{pool['id']}/")["size"] == 4
    expect_no_drift(page, pool)
