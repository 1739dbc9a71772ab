"""A role and a database by clicking, a pool that leads there, and a drop that waits until it does not."""

import time
from collections.abc import Iterator

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.browser.visiting import forget_pool, log_in
from tests.installation import Installation


@pytest.fixture
def page(visitor: Page, installation: Installation) -> Page:
    log_in(visitor, installation)
    return visitor


@pytest.fixture
def cluster(installation: Installation) -> Iterator[str]:
    """The demo's cluster; the pools that a test leaves behind go."""
    demo = next(one for one in installation.api.get("pools/")["results"] if one["name"] == "app")
    yield demo["cluster"]
    for left in [one for one in installation.api.get("pools/")["results"] if one["name"] == "shop"]:
        forget_pool(installation, left["id"])


def create_role(page: Page, cluster: str, name: str) -> str:
    """By its form; the answer is the password that the next page shows."""
    page.goto(f"/clusters/{cluster}/roles/")
    page.get_by_role("link", name="New role").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Create it").click()
    expect(page.get_by_role("heading", name=f"Role {name} was created")).to_be_visible()
    return page.get_by_label(f"The password of {name}").input_value()


def create_database(page: Page, cluster: str, name: str, owner: str) -> None:
    page.goto(f"/clusters/{cluster}/databases/")
    page.get_by_role("link", name="New database").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Owner").select_option(owner)
    page.get_by_role("button", name="Create it").click()
    expect(page.get_by_role("status").first).to_contain_text(f"Database {name} was created; {owner} owns it.")


def make_the_pool(page: Page, database: str, user: str) -> None:
    page.get_by_role("link", name=f"New pool to {database}").click()
    page.get_by_label("Name", exact=True).fill(database)
    page.get_by_label("Pooler").select_option(label="pgbouncer")
    expect(page.get_by_label("Database")).to_have_value(database)
    page.locator("[name=user]").select_option(user)
    page.get_by_label("Size", exact=True).fill("2")
    page.get_by_role("button", name="Create pool").click()
    expect(page.locator("#pool-state")).to_have_text("applied")


def drop(page: Page, cluster: str, noun: str, name: str) -> None:
    page.goto(f"/clusters/{cluster}/{noun}s/")
    page.get_by_role("link", name=f"Drop {name}").click()
    confirm = page.get_by_label(f"Type {name} to confirm")
    deadline = time.monotonic() + 60
    while not confirm.count():  # sessions that end stand in the way until the server has noticed
        assert time.monotonic() < deadline, page.locator("main").inner_text()
        page.wait_for_timeout(500)
        page.reload()
    confirm.fill(name)
    page.locator("main").get_by_role("button", name="Drop it").click()
    expect(page.get_by_role("status").first).to_contain_text(f"{noun.capitalize()} {name} was dropped.")


def remove_pool(installation: Installation, name: str) -> None:
    """To its end: a pool holds connections until it is off its pooler."""
    pool = next(one for one in installation.api.get("pools/")["results"] if one["name"] == name)
    forget_pool(installation, pool["id"])
    deadline = time.monotonic() + 60
    while any(one["name"] == name for one in installation.api.get("pools/")["results"]):
        assert time.monotonic() < deadline, f"pool {name} is still there"
        time.sleep(0.2)


def test_a_role_and_a_database_live_and_go(page: Page, installation: Installation, cluster: str) -> None:
    password = create_role(page, cluster, "shopper")
    assert len(password) >= 20
    page.reload()
    expect(page.locator("main")).to_be_visible()
    assert password not in page.content()
    create_database(page, cluster, "shop", "shopper")
    make_the_pool(page, "shop", "shopper")
    uri = installation.api.get(f"pools/{page.url.rstrip('/').rpartition('/')[2]}/connection/?as=uri&reveal=1")["text"]
    assert password in uri
    with psycopg.connect(uri) as client:
        assert client.execute("SELECT current_user, current_database()").fetchone() == ("shopper", "shop")

    for noun, name in (("database", "shop"), ("role", "shopper")):
        page.goto(f"/clusters/{cluster}/{noun}s/")
        page.get_by_role("link", name=f"Drop {name}").click()
        refusal = page.get_by_role("alert").filter(has_text="It can’t be dropped until these blockers are gone")
        expect(refusal.get_by_role("link", name="shop").first).to_be_visible()
        expect(page.get_by_role("button", name="Drop it")).to_have_count(0)
    remove_pool(installation, "shop")
    drop(page, cluster, "database", "shop")
    drop(page, cluster, "role", "shopper")
    expect(page.get_by_text("shopper", exact=True)).to_have_count(0)
