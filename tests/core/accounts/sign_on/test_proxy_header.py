"""Sign-on by the header of a proxy: only the proxy is believed, and the session is that of whom it names."""

import asyncio
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from core.accounts.models import Membership, Team
from core.accounts.sign_on import configuration
from core.accounts.sign_on.configuration import GroupRules, ProxyHeader, grants
from panel.proxies import TrustedProxies
from tests.callers import person

pytestmark = pytest.mark.django_db
NAMES = ("X-Remote-User", "X-Remote-Groups")
PASSWORD = "correct horse battery"  # the tests' own


@pytest.fixture(autouse=True)
def header(settings) -> ProxyHeader:
    Team.objects.create(name="Payments")
    rules = GroupRules(grants("ops=Payments:operator; root=administrator"))
    settings.SIGN_ON_HEADER = ProxyHeader(header=NAMES[0], groups_header=NAMES[1], name="The proxy", rules=rules)
    return settings.SIGN_ON_HEADER


def named(name: str, groups: str = "ops") -> dict[str, str]:
    return {NAMES[0]: name, NAMES[1]: groups}


def believed(peer: str | None, *headers: tuple[str, str]) -> list[tuple[str, str]]:
    """The headers that reach the panel of a request from this address, where 10.0.0.5 is the proxy."""
    seen: list[tuple[str, str]] = []

    async def panel(scope: Any, receive: Any, send: Any) -> None:
        seen.extend((name.decode(), value.decode()) for name, value in scope["headers"])

    sent = [(name.encode(), value.encode()) for name, value in headers]
    client = (peer, 4711) if peer else None
    scope = {"type": "http", "client": client, "scheme": "http", "headers": sent}
    asyncio.run(TrustedProxies(panel, [ip_network("10.0.0.5")], NAMES)(scope, None, None))
    return [one for one in seen if "remote" in one[0].lower()]


def test_the_proxy_is_believed_and_nobody_else():
    assert believed("10.0.0.5", ("x-remote-user", "ann")) == [("x-remote-user", "ann")]
    for peer in ("10.0.0.6", "127.0.0.1", "203.0.113.9", None):
        assert believed(peer, ("x-remote-user", "ann"), ("x-remote-groups", "root")) == []


def test_a_forged_address_of_the_proxy_is_not_believed():
    assert believed("203.0.113.9", ("x-forwarded-for", "10.0.0.5"), ("x-remote-user", "ann")) == []
    assert believed("10.0.0.5", ("x-forwarded-for", "203.0.113.9"), ("x-remote-user", "ann")) != []


@pytest.mark.parametrize("name", ["x_remote_user", "x-remote_user", "X_Remote-User", "x_remote_groups"])
def test_another_spelling_is_removed_whoever_sent_it(name):
    assert believed("10.0.0.5", (name, "root")) == []
    assert believed("10.0.0.5", ("x-remote-user", "ann"), (name, "root")) == [("x-remote-user", "ann")]


def test_a_header_that_came_twice_says_nothing():
    assert believed("10.0.0.5", ("x-remote-user", "root"), ("x-remote-user", "ann")) == []


def test_whom_the_proxy_names_is_signed_in_with_the_roles_of_their_groups():
    client = Client()
    assert client.get("/tokens/", headers=named("ann")).headers["Location"] == "/login/?next=/tokens/"
    assert client.get("/login/?next=/tokens/", headers=named("ann", "else | ops")).headers["Location"] == "/tokens/"
    assert client.get("/tokens/", headers=named("ann")).status_code == 200
    rows = Membership.objects.filter(user__username="ann").values_list("team__name", "role", "source")
    assert list(rows) == [("Payments", "operator", "groups")]


@pytest.mark.parametrize("now", [{}, {"X-Remote-User": "bob"}])
def test_the_session_ends_when_the_header_names_somebody_else_or_nobody(now):
    client = Client()
    client.get("/login/", headers=named("ann"))
    assert client.get("/tokens/", headers=now).headers["Location"] == "/login/?next=/tokens/"
    assert client.get("/tokens/", headers=named("ann")).status_code == 302  # it has ended for good


def test_who_is_in_no_group_is_refused_and_can_log_in_by_password():
    answer = Client().get("/login/", headers=named("cid", "sales"))
    assert (answer.status_code, "/login/?password" in answer.content.decode()) == (403, True)
    assert not User.objects.exists()
    assert "Password" in Client().get("/login/?password", headers=named("cid", "sales")).content.decode()


def test_an_account_of_the_same_name_is_linked_only_where_the_settings_say_so(settings, header):
    person("Dan", staff=False, password=PASSWORD)
    assert Client().get("/login/", headers=named("dan")).status_code == 403
    settings.SIGN_ON_HEADER = replace(header, link_by_name=True)
    assert Client().get("/login/", headers=named("dan")).status_code == 302
    assert User.objects.count() == 1


def test_the_second_factor_is_asked_for_unless_that_of_the_proxy_counts(settings, header):
    Client().get("/login/", headers=named("eve"))
    Authenticator.objects.create(user=User.objects.get(), type=Authenticator.Type.TOTP, data={"secret": "x"})
    client = Client()
    assert client.get("/login/", headers=named("eve")).headers["Location"] == "/login/second-factor/"
    assert client.get("/tokens/", headers=named("eve")).status_code == 302
    settings.SIGN_ON_HEADER = replace(header, second_factor=True)
    assert Client().get("/login/", headers=named("eve")).headers["Location"] == "/"


def test_a_deactivated_person_is_told_so():
    Client().get("/login/", headers=named("fay"))
    User.objects.update(is_active=False)
    answer = Client().get("/login/", headers=named("fay"))
    assert (answer.status_code, "is deactivated" in answer.content.decode()) == (403, True)


def test_without_the_setting_the_header_is_nothing(settings):
    settings.SIGN_ON_HEADER = None
    assert Client().get("/login/", headers=named("gus")).status_code == 200


def test_the_start_refuses_a_header_without_trusted_proxies(monkeypatch):
    monkeypatch.setenv("POOLDECK_SIGN_ON_HEADER", "X-Remote-User")
    with pytest.raises(ImproperlyConfigured, match="counts only from proxies in POOLDECK_TRUSTED_PROXIES"):
        configuration.proxy_header([])
    assert configuration.proxy_header([ip_network("10.0.0.5")]) == ProxyHeader(header="X-Remote-User", name="The proxy")
    monkeypatch.setenv("POOLDECK_SIGN_ON_HEADER", "X_Remote_User")
    with pytest.raises(ImproperlyConfigured, match="use letters, digits and hyphens"):
        configuration.proxy_header([ip_network("10.0.0.5")])
