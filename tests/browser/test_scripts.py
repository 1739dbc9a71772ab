"""Scripts in the browser: written, refused with the line named, tried, and run by weight beside pgbench's own."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import log_in
from tests.installation import Installation

REFUSED = "SELECT 1;\nSELECT 1 \\shell echo"
GOOD = "\\set n random(1, 10)\nSELECT :n + :more;\n"


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


@pytest.fixture
def script(installation: Installation) -> Iterator[dict[str, object]]:
    """A script of the library, deleted afterwards."""
    made = installation.api.post("scripts/", {"name": "counting", "text": GOOD})
    yield made
    installation.api.call("DELETE", f"scripts/{made['id']}/")


def write(page: Page, text: str) -> None:
    page.goto("/scripts/new/")
    page.get_by_label("Name").fill("by hand")
    page.get_by_label("Script", exact=True).fill(text)
    page.get_by_role("button", name="Save the script").click()


def test_the_editor_refuses_a_shell_and_names_the_line(page: Page) -> None:
    write(page, REFUSED)
    error = page.locator(".errorlist", has_text="line 2")
    expect(error).to_contain_text("SELECT 1 \\shell echo")
    expect(error).to_contain_text("starts a program on the host of the load")
    expect(page.get_by_label("Script", exact=True)).to_have_value(REFUSED)
    expect(page.locator(".script-gutter")).to_have_text("1\n2")
    page.goto("/scripts/")
    expect(page.get_by_text("by hand")).to_have_count(0)


def test_without_javascript_the_editor_refuses_alike(visit: Callable[..., Page], installation: Installation) -> None:
    page = visit(java_script_enabled=False)
    log_in(page, installation)
    write(page, REFUSED)
    expect(page.locator(".errorlist", has_text="line 2")).to_contain_text("SELECT 1 \\shell echo")
    expect(page.get_by_label("Script", exact=True)).to_have_value(REFUSED)


def test_a_script_is_kept_changed_compared_and_deleted(page: Page) -> None:
    write(page, "SELECT 1;\n")
    expect(page.get_by_role("heading", name=re.compile("by hand"))).to_be_visible()
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Script", exact=True).fill("SELECT 2;\n")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("version 2", exact=True)).to_be_visible()
    expect(page.locator(".pd-diff-added")).to_contain_text("SELECT 2;")
    page.get_by_role("link", name="Delete").click()
    page.get_by_label(re.compile("Type by hand")).fill("by hand")
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_text("Script by hand was deleted")).to_be_visible()


def test_a_dry_run_shows_its_output_and_no_password(
    page: Page, installation: Installation, script: dict[str, object]
) -> None:
    page.goto(f"/scripts/{script['id']}/")
    page.get_by_label("Pool", exact=False).first.select_option(index=1)
    page.get_by_label("Variables").fill("more = 5")
    page.get_by_role("button", name="Try version 1").click()
    tried = page.locator(".script-tried")
    expect(tried).to_contain_text("number of transactions actually processed: 1/1")
    expect(tried).to_contain_text("succeeded")
    for secret in (installation.quickstart["password"], installation.quickstart["token"]):
        assert str(secret) not in page.content()


def test_a_mix_is_previewed_and_run(page: Page, script: dict[str, object]) -> None:
    page.goto(f"/runs/new/?script={script['id']}")
    expect(page.locator("#commands pre")).to_contain_text("-f script-1-counting-v1.sql@1")
    page.get_by_text("Several scripts, variables").click()
    page.locator("[name=mix_0_value]").select_option("select-only")
    page.locator("[name=mix_0_weight]").fill("3")
    page.locator("[name=mix_1_value]").select_option(label="counting, version 1")
    page.locator("[name=variables]").fill("more = 1")
    expect(page.locator("#commands pre")).to_contain_text("-b select-only@3 -f script-1-counting-v1.sql@1 -D more=1")
    page.get_by_label("Duration").fill("2")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_text("succeeded").first).to_be_visible()
    page.goto("/runs/")
    expect(page.get_by_text("select-only, counting version 1").first).to_be_visible()
