"""Fixtures of the tests of the pages of clusters, poolers and pools."""

import time

import pytest
from django.test import Client

from core.accounts import confirmation
from tests import callers


@pytest.fixture
def staff(db: None, client: Client) -> Client:
    """A client whose staff user has just logged in."""
    client.force_login(callers.person())
    session = client.session
    session[confirmation.CONFIRMED_AT] = time.time()
    session.save()
    return client


@pytest.fixture
def reader(db: None) -> Client:
    """A client whose user may only read."""
    client = Client()
    client.force_login(callers.person(staff=False))
    return client
