"""What changes and what can't be taken back, in a browser that runs no script."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import POOL_PAGE, RUN_PAGE, fill_pool_form, forget_pool, id_at, log_in, make_pool
from tests.installation import Installation


@pytest.fixture
def page(visit: Callable[..., Page], installation: Installation) -> Page:
    opened = visit(java_script_enabled=False)
    log_in(opened, installation)
    return opened


@pytest.fixture
def pooler(installation: Installation) -> str:
    """The demo's PgBouncer."""
    pooler_id: str = next(one for one in installation.api.get("poolers/")["results"] if one["kind"] == "pgbouncer")[
        "id"
    ]
    return pooler_id


def test_a_setting_is_refused_changed_and_taken_away(page: Page, installation: Installation, pooler: str) -> None:
    def save(value: str) -> None:
        page.locator("[name=query_wait_timeout]").fill(value)
        page.get_by_role("button", name="Save and apply").click()

    page.goto(f"/poolers/{pooler}/settings/")
    save("-5")
    expect(page.locator(".pd-field-invalid")).to_contain_text("query_wait_timeout")
    expect(page.locator("[name=query_wait_timeout]")).to_have_value("-5")
    save("83")
    installation.api.wait(f"poolers/{pooler}/", "settings_state", {"applied"}, 30)
    page.reload()
    setting = page.locator(".pd-setting", has=page.locator("[name=query_wait_timeout]"))
    expect(setting.locator("dd").first).to_have_text("83")
    save("")
    assert "query_wait_timeout" not in installation.api.get(f"poolers/{pooler}/")["settings"]
    installation.api.wait(f"poolers/{pooler}/", "settings_state", {"applied"}, 30)


def test_a_pooler_is_rolled_back(page: Page, installation: Installation) -> None:
    pool = make_pool(installation, "plainly")
    installation.api.call("PATCH", f"pools/{pool['id']}/", {"size": 5})
    installation.api.wait(f"pools/{pool['id']}/", "state", {"applied"}, 30)
    page.goto(f"/poolers/{pool['pooler']}/revisions/")
    page.get_by_role("row").nth(2).get_by_role("link").click()
    page.get_by_role("link", name="Roll back to this").click()
    page.get_by_role("button", name="Roll back to revision").click()
    assert installation.api.wait(f"pools/{pool['id']}/", "state", {"applied"}, 30)["size"] == 4
    forget_pool(installation, pool["id"])


def test_a_role_is_made_and_dropped(page: Page, installation: Installation) -> None:
    cluster = installation.api.get("clusters/")["results"][0]["id"]
    page.goto(f"/clusters/{cluster}/roles/new/")
    page.get_by_label("Name", exact=True).fill("passing")
    page.get_by_role("button", name="Create it").click()
    expect(page.get_by_label("The password of passing")).to_be_visible()
    page.get_by_role("link", name="back to the roles").click()
    page.get_by_role("link", name="Drop passing").click()
    page.get_by_label("Type passing to confirm").fill("passin")
    page.get_by_role("button", name="Drop it").click()
    expect(page.get_by_text("“passin” is not the name “passing”: nothing was removed")).to_be_visible()
    page.get_by_label("Type passing to confirm").fill("passing")
    page.get_by_role("button", name="Drop it").click()
    expect(page.get_by_role("status").first).to_contain_text("Role passing was dropped.")


def test_a_pool_is_made_copied_and_measured(page: Page, installation: Installation) -> None:
    page.goto("/pools/new/")
    fill_pool_form(page, "by-hand", 3)
    page.get_by_role("button", name="Create pool").click()
    pool_id = id_at(page, POOL_PAGE)
    installation.api.wait(f"pools/{pool_id}/", "state", {"applied"}, 30)
    page.reload()
    expect(page.locator("#connection")).to_contain_text(re.compile("postgresql://app@.*/by-hand"))
    page.get_by_role("button", name="Show password").click()
    expect(page.locator("#connection")).to_contain_text(re.compile("postgresql://app:[^@]+@.*/by-hand"))
    expect(page.get_by_role("navigation", name="Pool by-hand").locator("[aria-current]")).to_have_text("Overview")
    page.get_by_role("link", name="Run a benchmark").first.click()
    expect(page.get_by_text("Choose a target").locator("visible=true")).to_have_count(0)
    page.locator("[name=duration]").fill("2")
    page.get_by_role("button", name="Start the run").click()
    run_id = id_at(page, RUN_PAGE)
    installation.api.wait(f"runs/{run_id}/", "status", {"succeeded"}, 60)
    page.reload()
    expect(page.locator("#run-result")).to_contain_text("Throughput")
    expect(page.get_by_role("heading", name="Samples")).to_be_visible()
    forget_pool(installation, pool_id)
