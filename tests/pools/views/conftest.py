"""What the tests of the pages of clusters, poolers and pools share."""

import time

import pytest
from django.test import Client

from panel.accounts import confirmation
from tests import callers


@pytest.fixture
def staff(db: None, client: Client) -> Client:
    """A browser in which staff has just logged in."""
    client.force_login(callers.person())
    session = client.session
    session[confirmation.CONFIRMED_AT] = time.time()
    session.save()
    return client


@pytest.fixture
def reader(db: None) -> Client:
    """A browser of somebody who may only look."""
    client = Client()
    client.force_login(callers.person(staff=False))
    return client
