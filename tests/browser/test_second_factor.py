"""A second factor in a real Chromium: an app's codes, and a passkey of a virtual authenticator."""

import base64
import hashlib
import hmac
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from panel.quickstart.servers import RedisServer, free_port
from tests.browser.conftest import PASSWORD, WAIT_MS, Web

# Browsers keep passkeys for host names only.
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
FORM_REFUSED = "the server responded with a status of 422"  # which Chromium takes for a missing resource
MAKE_PERSON = f"""
import django; django.setup()
from django.contrib.auth.models import User
User.objects.create_user("NAME", password="{PASSWORD}")
"""

# A viewer, who has a token.
MAKE_VIEWER = f"""
{MAKE_PERSON}
from pathlib import Path
from core.accounts.models import FIRST_TEAM, ApiToken, Membership
user = User.objects.get(username="NAME")
Membership.objects.update_or_create(user=user, team_id=FIRST_TEAM, defaults={{"role": "viewer"}})
Path("TOKEN").write_text(ApiToken.objects.issue(user, "script", ["read"]))
"""
RAISE = """
import django; django.setup()
from core.accounts.models import Membership
Membership.objects.filter(user__username="NAME").update(role="operator")
"""
# Let each login and confirmation be older than the 15 minutes that they hold.
AGE = """
import django; django.setup()
from importlib import import_module
from django.conf import settings
from django.contrib.sessions.models import Session
from core.accounts.confirmation import CONFIRMED_AT
for row in Session.objects.all():
    session = import_module(settings.SESSION_ENGINE).SessionStore(row.session_key)
    session[CONFIRMED_AT] = 0.0
    session.save()
"""


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory, seeded: Callable[[Path], Path]) -> Iterator[Web]:
    """A panel that requires a second factor of operators and above."""
    home = seeded(tmp_path_factory.mktemp("strict"))
    with RedisServer(tmp_path_factory.mktemp("redis"), free_port(), password="redis-password") as redis:
        served = Web(home, redis.url)
        served.environment["POOLDECK_REQUIRE_MFA"] = "operators"
        served.start()
        yield served
        served.kill()


@pytest.fixture
def page(web: Web, chromium: Browser) -> Iterator[Page]:
    """A page at the panel's host name, nobody logged in; a script error or refused resource fails the test."""
    yield from stranger(web, chromium)


@pytest.fixture
def strict_page(strict: Web, chromium: Browser) -> Iterator[Page]:
    """A page at the panel that requires a second factor, likewise."""
    yield from stranger(strict, chromium)


def stranger(web: Web, chromium: Browser) -> Iterator[Page]:
    """Yield a page at the panel's host name, nobody logged in; a script error or refused resource fails the test."""
    context = chromium.new_context(base_url=f"http://localhost:{web.port}", viewport={"width": 1280, "height": 900})
    context.set_default_timeout(WAIT_MS)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    yield opened
    context.close()
    assert [line for line in complaints if not (line.startswith("htmx:") or FORM_REFUSED in line)] == []


def log_in(page: Page, name: str) -> None:
    page.goto("/login/?next=/account/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()


def code_of(secret: str) -> str:
    """The code that an app shows now, as RFC 6238 makes it."""
    digest = hmac.digest(base64.b32decode(secret), struct.pack(">Q", int(time.time()) // 30), hashlib.sha1)
    at = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[at : at + 4])[0] & 0x7FFFFFFF) % 1_000_000:06}"


def test_an_app_is_set_up_and_a_recovery_code_logs_in(page: Page, web: Web) -> None:
    web.run("-c", MAKE_PERSON.replace("NAME", "ann"))
    log_in(page, "ann")
    page.get_by_role("link", name="Add an app").click()
    drawn = page.get_by_role("img", name="QR code of the secret below")
    assert drawn.evaluate("image => image.complete && image.naturalWidth > 100")
    page.get_by_label("The code that the app shows now").fill(code_of(page.get_by_label("Or enter this").input_value()))
    page.get_by_role("button", name="Add the app").click()
    codes = page.get_by_label("Recovery codes that are left").input_value().split()
    assert len(set(codes)) == 10
    page.get_by_role("button", name="Sign out").first.click()
    log_in(page, "ann")
    asked = page.get_by_label("Code of your authenticator app, or a recovery code")
    asked.fill("00000000")
    page.get_by_role("button", name="Log in", exact=True).click()
    assert "That code is not right" in page.locator("main").inner_text()
    asked.fill(codes[0])
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_role("link", name="Recovery codes (9 left)").wait_for()


def test_a_passkey_is_added_logs_in_alone_and_is_removed(page: Page, web: Web) -> None:
    web.run("-c", MAKE_PERSON.replace("NAME", "bob"))
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    log_in(page, "bob")
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Name").fill("the laptop")
    page.get_by_role("button", name="Add the passkey").click()
    page.get_by_role("link", name="I keep them: to my account").click()
    page.get_by_text("the laptop", exact=True).wait_for()
    page.get_by_role("button", name="Sign out").first.click()
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url(f"http://localhost:{web.port}/")
    page.get_by_role("button", name="Sign out").first.click()
    log_in(page, "bob")  # the password asks for it as a second factor
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_role("link", name="Remove", exact=True).click()
    page.get_by_role("button", name="Remove the passkey").click()
    page.get_by_role("link", name="Add a passkey").wait_for()
    assert page.get_by_text("the laptop", exact=True).count() == 0


def test_a_raised_role_sets_up_a_factor_first_and_a_reset_lets_one_begin_anew(
    strict_page: Page, strict: Web, tmp_path: Path
) -> None:
    page, token = strict_page, tmp_path / "token"
    strict.run("-c", MAKE_VIEWER.replace("NAME", "cid").replace("TOKEN", str(token)))

    def status_of_token() -> int:
        headers = {"Authorization": f"Bearer {token.read_text()}"}
        return page.request.get("/api/v1/pools/", headers=headers).status

    log_in(page, "cid")
    page.goto("/pools/")
    expect(page).to_have_url(f"http://localhost:{strict.port}/pools/")
    strict.run("-c", RAISE.replace("NAME", "cid"))
    is_led_to_set_one_up(page, strict)
    assert status_of_token() == 200
    add_app(page)
    page.goto("/pools/")
    expect(page).to_have_url(f"http://localhost:{strict.port}/pools/")
    page.goto("/account/app/remove/")
    page.get_by_role("button", name="Remove the app").click()
    expect(page.get_by_text("add another one before you remove this one")).to_be_visible()
    strict.run("manage.py", "reset-second-factor", "cid")  # the phone is lost, and the codes with it
    page.goto("/pools/")
    expect(page.get_by_label("Password")).to_be_visible()  # whoever has the phone has no session
    log_in(page, "cid")
    is_led_to_set_one_up(page, strict)
    assert status_of_token() == 200


def is_led_to_set_one_up(page: Page, panel: Web) -> None:
    """Ask for a page, and come to the account page, which says why."""
    page.goto("/pools/")
    expect(page).to_have_url(f"http://localhost:{panel.port}/account/")
    expect(page.get_by_text("This panel requires a second factor of you")).to_be_visible()


def add_app(page: Page) -> None:
    """Set up an app, from the account page on."""
    page.get_by_role("link", name="Add an app").click()
    page.get_by_label("The code that the app shows now").fill(code_of(page.get_by_label("Or enter this").input_value()))
    page.get_by_role("button", name="Add the app").click()
    page.get_by_role("link", name="I keep them: to my account").click()


def test_changing_factors_takes_a_proof_of_the_last_minutes(strict_page: Page, strict: Web, tmp_path: Path) -> None:
    page = strict_page
    strict.run("-c", MAKE_VIEWER.replace("NAME", "dan").replace("TOKEN", str(tmp_path / "token")))
    log_in(page, "dan")
    add_app(page)
    strict.run("-c", AGE)
    for link in ("Add a passkey", "Remove", "Recovery codes (10 left)"):
        page.goto("/account/")
        page.get_by_role("link", name=link, exact=True).click()
        expect(page.get_by_role("heading", name="Confirm that it is you")).to_be_visible()
    page.get_by_label("Your password").fill("a guess")
    page.get_by_role("button", name="Confirm", exact=True).click()
    expect(page.get_by_role("heading", name="Confirm that it is you")).to_be_visible()
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm", exact=True).click()
    expect(page.get_by_label("Recovery codes that are left")).to_be_visible()
