"""What visitors of an installation do by hand in more than one test."""

import re
import time
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from playwright.sync_api import Page, expect

from core.accounts import confirmation
from tests.installation import Installation, Refused

POOL_PAGE = re.compile(r"/pools/([0-9a-f-]{36})/$")
RUN_PAGE = re.compile(r"/runs/([0-9a-f-]{36})/$")


class Login:
    """The cookies of a login by the form, which costs a second of a processor.

    They are renewed before the panel asks for the password again.
    """

    def __init__(self) -> None:
        self.cookies: list[Any] = []
        self.stale_at = 0.0

    def give(self, page: Page, by_form: Callable[[], None]) -> None:
        """Log `page` in, which nobody is logged in to yet."""
        if time.monotonic() >= self.stale_at:
            by_form()
            self.cookies = page.context.cookies()
            self.stale_at = time.monotonic() + confirmation.HOLDS_FOR_S / 2
        page.context.add_cookies(self.cookies)


_logins: "WeakKeyDictionary[Installation, Login]" = WeakKeyDictionary()


def id_at(page: Page, address: re.Pattern[str]) -> str:
    """Wait for the page of a record, which a click only asks for; return the record's id."""
    expect(page).to_have_url(address)
    found = address.search(page.url)
    assert found
    return found[1]


def log_in(page: Page, installation: Installation) -> None:
    """Be the installation's admin, by the cookies of a login that was; no page is opened where there are some."""
    _logins.setdefault(installation, Login()).give(page, lambda: log_in_by_form(page, installation))


def log_in_by_form(page: Page, installation: Installation) -> None:
    """Log in as the installation's admin."""
    page.goto("/")
    page.get_by_label("Username").fill(installation.quickstart["username"])
    page.get_by_label("Password").fill(installation.quickstart["password"])
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()


def fill_pool_form(page: Page, name: str, size: int) -> None:
    """The form of a new pool, where the demo's only cluster and PgBouncer are chosen already."""
    page.goto("/pools/new/")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Pooler").select_option(label="pgbouncer")
    page.get_by_label("Database").select_option("app")
    page.locator("[name=user]").select_option("app")
    page.get_by_label("Size", exact=True).fill(str(size))


def make_pool(installation: Installation, name: str, size: int = 4, **fields: Any) -> dict[str, Any]:
    """An applied pool beside the demo's, with what differs from it in `fields`."""
    demo = next(one for one in installation.api.get("pools/")["results"] if one["name"] == "app")
    like = {key: demo[key] for key in ("pooler", "cluster", "database", "user", "mode")}
    made = installation.api.post("pools/", {"name": name, "size": size, **like, **fields})
    found: dict[str, Any] = installation.api.wait(f"pools/{made['id']}/", "state", {"applied"}, 30)
    return found


def forget_pool(installation: Installation, pool_id: str) -> None:
    """Ask for a pool's removal, unless a test has removed it already."""
    try:
        installation.api.call("DELETE", f"pools/{pool_id}/")
    except Refused as error:
        if error.status != 404:
            raise
