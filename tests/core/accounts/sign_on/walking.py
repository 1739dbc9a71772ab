"""The way of a person from the login page to the provider and back."""

from urllib.parse import quote

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client

from core.accounts.models import Membership
from core.accounts.sign_on.configuration import GroupRules, grants
from tests.oidc_provider import OIDCProvider

PASSWORD = "correct horse battery"  # the tests' own
GROUPS = "dev=Payments:developer; ops=Payments:operator; cn=dba,ou=it=Orders:owner; root=administrator"
RULES = GroupRules(grants(GROUPS))
TRAIL = pytest.mark.django_db(transaction=True)  # its entries are written just before the commit


def begin(client: Client, next_page: str = "") -> str:
    """Press the button on the login page; return the address at the provider."""
    led = client.get("/login/provider/" + (f"?next={quote(next_page)}" if next_page else ""))
    assert led.status_code == 302, led.content
    return led.headers["Location"]


def sign_on(provider: OIDCProvider, subject: str, client: Client | None = None, next_page: str = "", **claims: object):
    """Walk the whole way as this person; return the answer to the way back."""
    client = client or Client()
    if claims:
        provider.put(subject, **claims)
    answer = client.get(provider.authorize(begin(client, next_page), subject))
    answer.client = client
    return answer


def with_app(name: str) -> None:
    """Give this person an authenticator app."""
    user = User.objects.get(username=name)
    Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={"secret": "x"})


def roles(name: str) -> set[tuple[str, str, str]]:
    rows = Membership.objects.filter(user__username=name)
    return {(row.team.name, row.role, row.source) for row in rows.select_related("team")}
