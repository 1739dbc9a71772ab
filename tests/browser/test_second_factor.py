"""A second factor in a real Chromium: an app's codes, and a passkey of a virtual authenticator."""

import base64
import hashlib
import hmac
import struct
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

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
MAKE_PERSON = f"""
import django; django.setup()
from django.contrib.auth.models import User
User.objects.create_user("NAME", password="{PASSWORD}")
"""


@pytest.fixture
def page(web: Web, chromium: Browser) -> Iterator[Page]:
    """A page at the panel's host name, nobody logged in; a script error or refused resource fails the test."""
    context = chromium.new_context(base_url=f"http://localhost:{web.port}", viewport={"width": 1280, "height": 900})
    context.set_default_timeout(WAIT_MS)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    yield opened
    context.close()
    assert [line for line in complaints if not line.startswith("htmx:")] == []


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
