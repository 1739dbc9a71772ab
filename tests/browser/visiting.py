"""What visitors of an installation do by hand in more than one test."""

from playwright.sync_api import Page, expect

from tests.installation import Installation


def log_in(page: Page, installation: Installation) -> None:
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
