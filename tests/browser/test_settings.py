"""A pooler's settings in the browser: found, changed, refused, brought live, and waiting for a restart."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import forget_pool, log_in, make_pool
from tests.certificates import self_signed
from tests.installation import Installation


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


@pytest.fixture
def pooler(installation: Installation) -> Iterator[dict[str, Any]]:
    """The demo's PgBouncer; its settings and files are taken away again."""
    found = next(one for one in installation.api.get("poolers/")["results"] if one["kind"] == "pgbouncer")
    path = f"poolers/{found['id']}/"
    yield found
    settings = installation.api.get(path)["settings"]
    installation.api.call("PATCH", path, {"settings": dict.fromkeys(settings)})
    for file in ("client_tls_cert_file", "client_tls_key_file"):
        if file in {one["setting"] for one in installation.api.get(f"{path}given-files/")["results"]}:
            installation.api.call("DELETE", f"{path}files/{file}/")
    installation.api.wait(path, "settings_state", {"applied"}, 30)


def test_a_changed_setting_is_found_saved_and_seen_live(page: Page, pooler: dict[str, Any]) -> None:
    page.goto(f"/poolers/{pooler['id']}/settings/")
    page.get_by_label("Find a setting").fill("client connections")
    expect(page.get_by_text(" of ").first).to_be_visible()
    page.locator("[name=max_client_conn]").fill("437")
    page.locator("[name=listen_backlog]").evaluate("field => { field.value = '512' }")
    page.get_by_role("button", name="Save and apply").click()
    expect(page.get_by_text("1 setting waits for a restart of the program")).to_be_visible()
    expect(page.get_by_text("systemctl restart pgbouncer")).to_be_visible()
    page.reload()
    row = page.locator(".pd-setting", has=page.locator("[name=max_client_conn]"))
    expect(row.locator("dd").first).to_have_text("437")
    expect(row.get_by_text("changed")).to_be_visible()
    page.get_by_label("Changed only").check()
    expect(page.locator(".pd-setting:visible")).to_have_count(2)


def test_a_setting_is_made_empty_on_purpose(page: Page, pooler: dict[str, Any], installation: Installation) -> None:
    page.goto(f"/poolers/{pooler['id']}/settings/")
    page.get_by_label("Empty on purpose: server_check_query").check()
    page.get_by_role("button", name="Save and apply").click()
    installation.api.wait(f"poolers/{pooler['id']}/", "settings_state", {"applied"}, 30)
    page.goto(f"/poolers/{pooler['id']}/settings/")
    row = page.locator(".pd-setting", has=page.locator("[name=server_check_query]"))
    expect(row.get_by_text("changed")).to_be_visible()
    expect(row.locator("dd").first).to_have_text("not set")
    expect(page.get_by_label("Empty on purpose: server_check_query")).to_be_checked()


def test_a_refused_value_stays_beside_its_message(page: Page, pooler: dict[str, Any]) -> None:
    page.goto(f"/poolers/{pooler['id']}/settings/")
    page.locator("[name=max_client_conn]").fill("many")
    page.locator("[name=verbose]").fill("2")
    page.get_by_role("button", name="Save and apply").click()
    expect(page.locator(".pd-setting.pd-field-invalid")).to_contain_text("max_client_conn='many' is not a whole number")
    expect(page.locator("[name=verbose]")).to_have_value("2")
    page.get_by_role("alert").get_by_role("link", name="max_client_conn").click()
    expect(page.locator("[name=max_client_conn]")).to_be_focused()


def test_a_certificate_and_its_key_are_uploaded_together(page: Page, pooler: dict[str, Any], tmp_path: Path) -> None:
    key, certificate = self_signed("pooler.example")
    (tmp_path / "key.pem").write_text(key)
    page.goto(f"/poolers/{pooler['id']}/settings/files/")
    for name in ("client_tls_cert_file", "client_tls_key_file"):
        page.locator("details", has=page.locator(f"[name={name}]")).locator("summary").click()
    page.locator("[name=client_tls_cert_file]").fill(certificate)
    page.locator("[name=upload_client_tls_key_file]").set_input_files(tmp_path / "key.pem")
    page.get_by_role("button", name="Save and apply").click()
    expect(page.get_by_text("pooler.example").first).to_be_visible()
    expect(page.get_by_text("SHA-256 of its public key")).to_be_visible()
    expect(page.locator("#settings-state .alert")).to_have_count(0)
    assert "PRIVATE KEY" not in page.content()


def test_a_reloadable_setting_is_pending_and_then_live_on_the_console(page: Page, pooler: dict[str, Any]) -> None:
    page.goto(f"/poolers/{pooler['id']}/settings/")
    page.locator("[name=query_wait_timeout]").fill("77")
    with page.expect_response(lambda answer: answer.url.endswith("/settings/") and answer.ok) as shown:
        page.get_by_role("button", name="Save and apply").click()
    assert "Saved, and not live yet" in shown.value.text()
    expect(page.locator("#settings-state .alert")).to_have_count(0)
    page.goto(f"/poolers/{pooler['id']}/console/config/?q=query_wait_timeout")
    expect(page.locator("#console-table").get_by_role("row").nth(1)).to_contain_text("77")


def test_a_value_out_of_range_is_refused_with_what_it_takes(page: Page, pooler: dict[str, Any]) -> None:
    page.goto(f"/poolers/{pooler['id']}/settings/")
    page.locator("[name=tcp_keepcnt]").fill("128")
    page.get_by_role("button", name="Save and apply").click()
    refused = page.locator(".pd-setting.pd-field-invalid")
    expect(refused).to_contain_text("tcp_keepcnt=128")
    expect(refused).to_contain_text("127")
    expect(page.locator("[name=tcp_keepcnt]")).to_have_value("128")


def test_a_pool_takes_further_settings_of_its_pooler(page: Page, installation: Installation) -> None:
    pool = make_pool(installation, "furthered")
    page.goto(f"/pools/{pool['id']}/edit/")
    page.get_by_text("Further settings").click()
    page.locator("[name=further_reserve_pool]").fill("2")
    page.get_by_role("button", name="Save and apply").click()
    expect(page.locator("#pool-state")).to_have_text("applied")
    expect(page.locator(".pd-facts dt:has-text('reserve_pool') + dd")).to_contain_text("2")
    page.goto(f"/poolers/{pool['pooler']}/console/databases/?q=furthered")
    expect(page.locator("#console-table").get_by_role("columnheader", name="reserve_pool")).to_be_visible()
    forget_pool(installation, pool["id"])
