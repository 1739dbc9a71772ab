"""Poolers that somebody else runs, watched from a pasted list in a real browser."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, free_port
from tests.browser.conftest import Web

pytestmark = pytest.mark.browser
ENTRIES = "orders = host=db1.example.org port=5432 pool_size=5\nreports = host=db1.example.org user=app pool_size=3\n"


@pytest.fixture(scope="module")
def bouncers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[PgBouncerServer]]:
    """Two PgBouncers with two entries each."""
    homes = [tmp_path_factory.mktemp("pgbouncer") for _ in range(2)]
    made = [PgBouncerServer(home, free_port(), "pooldeck", "console-password") for home in homes]
    for one in made:
        one.start()
        ini = one.config_dir / "pgbouncer.ini"
        account.write_private(ini, ini.read_text().replace("[databases]\n", f"[databases]\n{ENTRIES}", 1))
        with one.connect() as console:
            console.execute(b"RELOAD")
    yield made
    for one in made:
        one.stop()


def test_a_pasted_list_is_watched_line_by_line_and_bad_lines_stay(
    page: Page, web: Web, bouncers: list[PgBouncerServer]
) -> None:
    addresses = [f"{one.host}:{one.port}" for one in bouncers]
    page.goto(f"{web.url}/poolers/paste/")
    page.get_by_label("Poolers").fill("\n".join([*addresses, f"127.0.0.1:{free_port()}"]))
    page.get_by_label("Console password").fill("console-password")
    page.get_by_role("button", name="Watch them").click()
    rows = page.locator("#pasted tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("watched")
    expect(rows.nth(0)).to_contain_text("2 lead to servers that are not registered")
    expect(rows.nth(1)).to_contain_text("watched")
    expect(rows.nth(2)).to_contain_text("not registered")
    expect(rows.nth(2).get_by_role("button", name="Try again")).to_be_visible()
    assert addresses[0] in page.get_by_label("Poolers").input_value()

    page.goto(f"{web.url}/pools/")
    card = page.get_by_role("region", name="Not managed here")
    expect(card.get_by_role("link", name="orders").first).to_be_visible()
    card.get_by_role("link", name="reports").first.click()
    either = re.compile("|".join(re.escape(f"postgresql://app@{one}/reports") for one in addresses))
    expect(page.get_by_text(either).first).to_be_visible()


def test_those_of_a_list_are_previewed_and_agreed_to_in_one_table(
    page: Page, web: Web, bouncers: list[PgBouncerServer]
) -> None:
    page.goto(f"{web.url}/poolers/paste/")
    page.get_by_label("Poolers").fill("\n".join(f"{one.host}:{one.port}" for one in bouncers))
    page.get_by_label("Console password").fill("console-password")
    page.get_by_role("button", name="Watch them").click()
    expect(page.locator("#pasted tbody tr a.pd-name")).to_have_count(2)
    page.get_by_role("button", name="Preview their take-over").click()
    rows = page.locator("tbody tr")
    expect(rows.get_by_role("checkbox")).to_have_count(2)
    expect(rows.first).to_contain_text("orders stays as it is: no cluster is registered for db1.example.org:5432")
    assert "console-password" not in page.url
    rows.last.get_by_role("checkbox").uncheck()
    page.get_by_role("button", name="Take over the chosen").click()
    expect(rows.first).to_contain_text("asked for")
    expect(rows.last.get_by_role("checkbox")).to_be_visible()
