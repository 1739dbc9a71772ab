"""A team from its creation to its first developer, in a real Chromium: two browsers, one link."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import WAIT_MS, Web

OWN_PASSWORD = "correct horse battery"  # the test's own
MAKE_CLUSTERS = """
import django; django.setup()
from core.accounts.models import FIRST_TEAM, Team
from pools.models import Cluster
team = Team.objects.get(name="Payments").pk
for name, owner in (("payments-db", team), ("orders-db", FIRST_TEAM)):
    Cluster.objects.create(name=name, host="127.0.0.1", port=1, admin_user="postgres", team_id=owner)
"""
REMOVE_ALL = """
import django; django.setup()
from django.contrib.auth.models import User
from core.accounts.models import Team
from pools.models import Cluster
Cluster.objects.filter(name__in=["payments-db", "orders-db"]).delete()
Team.objects.filter(name="Payments").delete()
User.objects.filter(username="dora").delete()
"""


@pytest.fixture
def newcomer(web: Web, chromium: Browser) -> Iterator[Page]:
    """A page in another browser, where nobody is logged in; a script error or refused resource fails the test."""
    context = chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == []


@pytest.fixture
def only_here(web: Web) -> Iterator[None]:
    """Leave the panel with one team, as the other tests expect it."""
    yield
    web.run("-c", REMOVE_ALL)


def clusters_of(page: Page) -> set[str]:
    return {name for name in ("payments-db", "orders-db") if page.get_by_role("link", name=name).count()}


def test_a_developer_who_was_invited_sees_the_clusters_of_their_team(
    page: Page, newcomer: Page, web: Web, only_here: Any
) -> None:
    page.goto(f"{web.url}/teams/")
    page.get_by_role("link", name="New team").click()
    page.get_by_label("Name").fill("Payments")
    page.get_by_role("button", name="Create the team").click()
    expect(page.get_by_role("status")).to_contain_text("Team Payments is created")
    web.run("-c", MAKE_CLUSTERS)
    page.get_by_role("link", name="Invite somebody").click()
    expect(page.get_by_label("Team", exact=True)).to_have_value(page.url.partition("team=")[2])
    page.get_by_label("Role", exact=True).select_option("developer")
    page.get_by_role("button", name="Make the link").click()
    link = page.get_by_role("textbox", name="Copy the link now").input_value()
    newcomer.goto(web.url + link[link.index("/invitation/") :])
    expect(newcomer.get_by_role("heading", level=1)).to_have_text("Invitation into Payments")
    assert "token" not in newcomer.url
    newcomer.get_by_label("Username").fill("dora")
    newcomer.get_by_label("Password", exact=True).fill(OWN_PASSWORD)
    newcomer.get_by_label("Password confirmation").fill(OWN_PASSWORD)
    newcomer.get_by_role("button", name="Create my account").click()
    newcomer.wait_for_url(f"{web.url}/")
    newcomer.goto(f"{web.url}/clusters/")
    page.goto(f"{web.url}/clusters/")
    assert (clusters_of(newcomer), clusters_of(page)) == ({"payments-db"}, {"payments-db", "orders-db"})
    page.goto(f"{web.url}/people/")
    expect(page.get_by_role("row", name="dora")).to_contain_text("Payments (developer)")
    page.goto(f"{web.url}/invitations/")
    expect(page.get_by_role("main")).to_contain_text("No open invitation")
