"""Who calls: API clients with a token of given scopes, with none, and in a browser session."""

import uuid

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from core.accounts.access import Access
from core.accounts.models import ApiToken

EVERY_SCOPE = ("read", "run", "apply", "admin")


def person(name: str = "", *, staff: bool = True, password: str | None = None) -> User:
    """A user of the panel."""
    return User.objects.create_user(name or f"user-{uuid.uuid4().hex[:8]}", password=password, is_staff=staff)


def bearer(*scopes: str, user: User | None = None) -> APIClient:
    """A client that sends a token with these scopes (all when none are named)."""
    token = ApiToken.objects.issue(user or person(), "test", list(scopes or EVERY_SCOPE))
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


def of_an_admin() -> Access:
    """What an administrator of the installation may see and do, which is everything."""
    return Access(User(is_staff=True))


def anonymous() -> APIClient:
    """A client without a login."""
    return APIClient()


def queries_of(client: Client, url: str) -> int:
    """The number of queries of one GET, which must answer 200."""
    client.get(url)  # the first use of a token writes its time
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url).status_code == 200
    return len(queries)
