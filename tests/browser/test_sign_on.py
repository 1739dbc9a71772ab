"""Sign-on in a real Chromium, by a real OpenID Connect provider: roles follow the groups, and lies are refused."""

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from panel.quickstart.servers import RedisServer, free_port
from tests import oidc_provider
from tests.browser.conftest import MAKE_ADMIN, WAIT_MS, Web
from tests.oidc_provider import OIDCProvider

MAKE_TEAMS = f"""{MAKE_ADMIN}
from core.accounts.models import Team
Team.objects.create(name="Payments")
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[OIDCProvider]:
    with oidc_provider.serving() as served:
        yield served


@pytest.fixture(scope="module")
def panel(
    tmp_path_factory: pytest.TempPathFactory, seeded: Callable[[Path], Path], provider: OIDCProvider
) -> Iterator[Web]:
    """A panel that the environment alone tells of the provider."""
    home, secret = seeded(tmp_path_factory.mktemp("sign-on")), tmp_path_factory.mktemp("secret") / "client"
    secret.write_text("of-the-tests\n")
    with RedisServer(tmp_path_factory.mktemp("redis"), free_port(), password="redis-password") as redis:
        served = Web(home, redis.url)
        served.environment |= {
            "POOLDECK_OIDC_ISSUER": provider.issuer,
            "POOLDECK_OIDC_CLIENT_ID": "pooldeck",
            "POOLDECK_OIDC_CLIENT_SECRET_FILE": str(secret),
            "POOLDECK_OIDC_NAME": "ACME",
            "POOLDECK_OIDC_GROUPS": "ops=Payments:operator; lead=Payments:owner",
        }
        served.run("-c", MAKE_TEAMS)
        served.start()
        yield served
        served.kill()


@pytest.fixture
def strangers(chromium: Browser, panel: Web) -> Iterator[Callable[[], BrowserContext]]:
    """Browsers in which nobody is signed in."""
    made: list[BrowserContext] = []

    def another() -> BrowserContext:
        context = chromium.new_context(base_url=f"http://localhost:{panel.port}")
        context.set_default_timeout(WAIT_MS)
        made.append(context)
        return context

    yield another
    for context in made:
        context.close()


def sign_in(page: Page, subject: str) -> None:
    """Press the button, and say at the provider who one is."""
    page.goto("/login/?next=/teams/")
    page.get_by_role("link", name="Sign in with ACME").click()
    say_who(page, subject)


def say_who(page: Page, subject: str) -> None:
    page.locator("input[name=sub]").fill(subject)
    page.get_by_role("button", name="Authorize").last.click()


def roles_of(panel: Web, name: str) -> str:
    """A person's roles, as the database has them."""
    code = f"""
import django; django.setup()
from core.accounts.models import Membership
from pathlib import Path
rows = Membership.objects.filter(user__username="{name}").values_list("team__name", "role", "source")
Path("{panel.log}.roles").write_text(repr(list(rows)))
"""
    panel.run("-c", code)
    return Path(f"{panel.log}.roles").read_text()


def test_the_first_sign_on_gives_the_roles_of_the_groups_and_the_next_follows_them(
    strangers: Callable[[], BrowserContext], panel: Web, provider: OIDCProvider
) -> None:
    provider.put("ann-1", preferred_username="ann", groups=["ops"])
    page = strangers().new_page()
    sign_in(page, "ann-1")
    expect(page).to_have_url(f"http://localhost:{panel.port}/teams/")
    expect(page.get_by_role("link", name="Payments")).to_be_visible()
    assert roles_of(panel, "ann") == "[('Payments', 'operator', 'groups')]"
    page.get_by_role("button", name="Sign out").first.click()
    provider.put("ann-1", preferred_username="ann", groups=["lead", "others"])
    sign_in(page, "ann-1")
    expect(page).to_have_url(f"http://localhost:{panel.port}/teams/")
    assert roles_of(panel, "ann") == "[('Payments', 'owner', 'groups')]"


def test_a_person_without_a_fitting_group_is_told_which_were_seen(
    strangers: Callable[[], BrowserContext], panel: Web, provider: OIDCProvider
) -> None:
    provider.put("bob-1", preferred_username="bob", groups=["sales"])
    page = strangers().new_page()
    sign_in(page, "bob-1")
    expect(page.get_by_role("heading", name="You have no access yet")).to_be_visible()
    expect(page.get_by_role("alert").get_by_text("sales", exact=True)).to_be_visible()
    page.get_by_role("link", name="To the login").click()
    expect(page.get_by_label("Username")).to_be_visible()


@pytest.mark.parametrize("lie", ["nonce", "state"])
def test_a_wrong_nonce_and_a_wrong_state_are_refused(
    strangers: Callable[[], BrowserContext], panel: Web, provider: OIDCProvider, lie: str
) -> None:
    provider.put("cid-1", preferred_username="cid", groups=["ops"])
    context = strangers()
    there = context.request.get("/login/provider/", max_redirects=0).headers["location"]
    asked = parse_qs(urlsplit(there).query)[lie][0]
    page = context.new_page()
    page.goto(there.replace(f"{lie}={asked}", f"{lie}={'x' * len(asked)}"))
    say_who(page, "cid-1")
    heading = {"nonce": "The sign-in failed", "state": "This sign-in is no longer good"}[lie]
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    assert roles_of(panel, "cid") == "[]"


def test_an_account_is_linked_by_its_owner(
    strangers: Callable[[], BrowserContext], panel: Web, provider: OIDCProvider
) -> None:
    provider.put("admin-1", preferred_username="admin", groups=["ops"])
    page = strangers().new_page()
    sign_in(page, "admin-1")
    expect(page.get_by_role("heading", name="The user name is taken")).to_be_visible()
    page.get_by_role("link", name="To the login").click()
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill("browser-tests-only")
    page.get_by_role("button", name="Log in", exact=True).click()
    page.goto("/account/")
    page.get_by_role("link", name="Link with ACME").click()
    page.get_by_role("button", name="Go on to ACME").click()
    say_who(page, "admin-1")
    expect(page.get_by_text("Your account is linked: you can sign in with ACME.")).to_be_visible()
    page.get_by_role("button", name="Sign out").first.click()
    sign_in(page, "admin-1")
    expect(page).to_have_url(f"http://localhost:{panel.port}/teams/")
