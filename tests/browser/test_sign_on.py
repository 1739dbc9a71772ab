"""Sign-on in a real Chromium, by a real provider with its own login form: roles follow groups, and lies are refused."""

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from panel.quickstart.servers import RedisServer, free_port
from tests.browser.conftest import MAKE_ADMIN, WAIT_MS, Web
from tests.browser.conftest import PASSWORD as PASSWORD_HERE
from tests.identity_provider import PASSWORD, Canaille

MAKE_TEAMS = f"""{MAKE_ADMIN}
from core.accounts.models import Team
Team.objects.create(name="Payments")
"""
IN_OPS = ("ann", "admin", "cid", "dora", "eve", "fred")


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory, seeded: Callable[[Path], Path]) -> Iterator[Web]:
    """A panel that is not told of its provider yet."""
    home = seeded(tmp_path_factory.mktemp("sign-on"))
    with RedisServer(tmp_path_factory.mktemp("redis"), free_port(), password="redis-password") as redis:
        served = Web(home, redis.url)
        served.run("-c", MAKE_TEAMS)
        yield served
        served.kill()


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory, panel: Web) -> Iterator[Canaille]:
    """The provider, and the panel that the environment alone tells of it."""
    canaille = Canaille(tmp_path_factory.mktemp("canaille"), f"http://localhost:{panel.port}")
    canaille.add_people("bob", *IN_OPS)
    canaille.add_groups(ops=IN_OPS, lead=("fred",), sales=("bob",))
    secret = tmp_path_factory.mktemp("secret") / "client"
    secret.write_text(f"{canaille.client_secret}\n")
    panel.environment |= {
        "POOLDECK_OIDC_ISSUER": canaille.issuer,
        "POOLDECK_OIDC_CLIENT_ID": canaille.client_id,
        "POOLDECK_OIDC_CLIENT_SECRET_FILE": str(secret),
        "POOLDECK_OIDC_NAME": "ACME",
        "POOLDECK_OIDC_SCOPES": "openid profile email groups",
        "POOLDECK_OIDC_TOKEN_AUTH_METHOD": "client_secret_basic",
        "POOLDECK_OIDC_GROUPS": "ops=Payments:operator; lead=Payments:owner",
    }
    canaille.start()
    panel.start()
    yield canaille
    canaille.stop()


@pytest.fixture
def stranger(chromium: Browser, panel: Web, provider: Canaille) -> Iterator[Page]:
    """A page in a browser in which nobody is signed in, here or at the provider."""
    context = chromium.new_context(base_url=f"http://localhost:{panel.port}")
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    yield page
    print(f"at {page.url}, the provider said:\n{provider.log.read_text()[-3000:]}")
    context.close()


def sign_in(page: Page, name: str) -> None:
    """Press the button, and log in at the provider."""
    page.goto("/login/?next=/teams/")
    page.get_by_role("link", name="Sign in with ACME").click()
    log_in_there(page, name)


def log_in_there(page: Page, name: str, password: str = PASSWORD) -> None:
    """Go through the provider's own form."""
    page.locator("input[name=login]").fill(name)
    page.get_by_role("button", name="Continue").click()
    give_password_there(page, password)


def give_password_there(page: Page, password: str = PASSWORD) -> None:
    """Fill in the second page of its form, which is the only one for somebody whom it knows."""
    page.locator("input[name=password]").fill(password)
    page.get_by_role("button", name="Sign in").click()


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


def is_refused(page: Page, heading: str) -> None:
    """Read why, and find nobody signed in."""
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    page.goto("/teams/")
    expect(page.get_by_role("button", name="Log in", exact=True)).to_be_visible()


def test_the_first_sign_on_gives_the_roles_of_the_groups_and_the_next_follows_them(
    stranger: Page, panel: Web, provider: Canaille
) -> None:
    sign_in(stranger, "ann")
    expect(stranger).to_have_url(f"http://localhost:{panel.port}/teams/")
    expect(stranger.get_by_role("link", name="Payments")).to_be_visible()
    assert roles_of(panel, "ann") == "[('Payments', 'operator', 'groups')]"
    provider.set_members(ops=[one for one in IN_OPS if one != "ann"], lead=["ann"])
    stranger.get_by_role("button", name="Sign out").first.click()
    stranger.goto("/teams/")  # the session here has ended, that of the provider has not
    stranger.get_by_role("link", name="Sign in with ACME").click()
    expect(stranger).to_have_url(f"http://localhost:{panel.port}/teams/")
    assert roles_of(panel, "ann") == "[('Payments', 'owner', 'groups')]"


def test_who_does_not_know_the_password_there_does_not_come_back(stranger: Page, panel: Web) -> None:
    stranger.goto("/login/provider/")
    log_in_there(stranger, "cid", password="a guess")
    expect(stranger.get_by_text("Login failed. Please check your information.")).to_be_visible()
    stranger.goto(f"http://localhost:{panel.port}/teams/")
    expect(stranger.get_by_role("button", name="Log in", exact=True)).to_be_visible()
    assert roles_of(panel, "cid") == "[]"


def test_a_person_without_a_fitting_group_is_told_which_were_seen(stranger: Page) -> None:
    sign_in(stranger, "bob")
    expect(stranger.get_by_role("alert").get_by_text("sales", exact=True)).to_be_visible()
    is_refused(stranger, "You have no access yet")


@pytest.mark.parametrize(
    ("lie", "heading"),
    [
        ("nonce", "The sign-in failed"),
        ("state", "This sign-in is no longer good"),
        ("code_challenge", "The sign-in failed"),
    ],
)
def test_a_changed_request_signs_nobody_in(
    stranger: Page, panel: Web, provider: Canaille, lie: str, heading: str
) -> None:
    there = stranger.request.get("/login/provider/", max_redirects=0).headers["location"]
    asked = parse_qs(urlsplit(there).query)
    assert asked["code_challenge_method"] == ["S256"]
    value = asked[lie][0]
    stranger.goto(there.replace(f"{lie}={value}", f"{lie}={'x' * len(value)}"))
    log_in_there(stranger, "dora")
    is_refused(stranger, heading)
    assert roles_of(panel, "dora") == "[]"


def test_an_account_is_linked_by_its_owner(stranger: Page, panel: Web) -> None:
    sign_in(stranger, "admin")
    expect(stranger.get_by_role("heading", name="The user name is taken")).to_be_visible()
    stranger.get_by_role("link", name="To the login").click()
    stranger.get_by_label("Username").fill("admin")
    stranger.get_by_label("Password").fill(PASSWORD_HERE)
    stranger.get_by_role("button", name="Log in", exact=True).click()
    stranger.goto("/account/")
    stranger.get_by_role("link", name="Link with ACME").click()
    stranger.get_by_role("button", name="Go on to ACME").click()
    give_password_there(stranger)  # it knows them, and is told to ask nevertheless
    expect(stranger.get_by_text("Your account is linked: you can sign in with ACME.")).to_be_visible()
    stranger.get_by_role("button", name="Sign out").first.click()
    stranger.wait_for_timeout(1000)  # the provider fails when it issues a person two access tokens in one second
    stranger.goto("/login/?next=/teams/")
    stranger.get_by_role("link", name="Sign in with ACME").click()
    expect(stranger).to_have_url(f"http://localhost:{panel.port}/teams/")


@pytest.mark.parametrize(
    ("clock_s", "accepted"),
    [(-3630, True), (-7200, False), (45, True), (600, False)],
    ids=["expired 30 s ago", "expired an hour ago", "issued in 45 s", "issued in 10 min"],
)
def test_an_expired_token_and_a_clock_that_is_far_off_are_refused(
    stranger: Page, panel: Web, provider: Canaille, clock_s: int, accepted: bool
) -> None:
    """Its ID tokens are good for an hour, and clocks may differ by a minute."""
    provider.set_clock(clock_s)
    try:
        sign_in(stranger, "eve")
        if accepted:
            expect(stranger).to_have_url(f"http://localhost:{panel.port}/teams/")
        else:
            is_refused(stranger, "The sign-in failed")
    finally:
        provider.set_clock(0)


def test_while_the_provider_is_down_passwords_work_and_afterwards_a_new_key_is_taken(
    stranger: Page, panel: Web, provider: Canaille
) -> None:
    before = provider.published_keys()
    provider.stop()
    stranger.goto("/login/?next=/teams/")
    stranger.get_by_role("link", name="Sign in with ACME").click()
    expect(stranger.get_by_role("heading", name="ACME can’t be reached")).to_be_visible()
    stranger.get_by_role("link", name="To the login").click()
    stranger.get_by_label("Username").fill("admin")
    stranger.get_by_label("Password").fill(PASSWORD_HERE)
    stranger.get_by_role("button", name="Log in", exact=True).click()
    stranger.get_by_role("button", name="Sign out").first.click()
    provider.rotate_key()
    provider.start()
    new, *old = provider.published_keys()
    assert (old, new in before) == (before, False)
    sign_in(stranger, "fred")
    expect(stranger).to_have_url(f"http://localhost:{panel.port}/teams/")


@pytest.fixture
def panel_that_signs_out_there(panel: Web, provider: Canaille) -> Iterator[None]:
    panel.environment["POOLDECK_OIDC_SIGN_OUT"] = "true"
    panel.kill()
    panel.start()
    yield
    del panel.environment["POOLDECK_OIDC_SIGN_OUT"]
    panel.kill()
    panel.start()


def test_sign_out_ends_the_session_at_the_provider_too_and_leads_back(
    stranger: Page, panel: Web, panel_that_signs_out_there: None
) -> None:
    sign_in(stranger, "fred")
    expect(stranger).to_have_url(f"http://localhost:{panel.port}/teams/")
    stranger.get_by_role("button", name="Sign out").first.click()
    expect(stranger).to_have_url(f"http://localhost:{panel.port}/login/")  # by the provider, which needs no question
    stranger.goto("/login/?next=/teams/")
    stranger.get_by_role("link", name="Sign in with ACME").click()
    expect(stranger.locator("input[name=login]")).to_be_visible()  # it knows nobody any more
    log_in_there(stranger, "fred")
    expect(stranger).to_have_url(f"http://localhost:{panel.port}/teams/")
