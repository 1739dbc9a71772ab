"""What the tests of the pages of runs share."""

import pytest
from django.test import Client

from tests import callers


@pytest.fixture
def staff(db: None, client: Client) -> Client:
    """A browser in which staff is logged in."""
    client.force_login(callers.person())
    return client


@pytest.fixture
def reader(db: None) -> Client:
    """A browser of somebody who may only look."""
    client = Client()
    client.force_login(callers.person(staff=False))
    return client


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that takes everything."""
    monkeypatch.setattr("benchmarks.experiments.advice.sweep.require_queue", lambda: None)
    monkeypatch.setattr("benchmarks.experiments.dispatch.request_advance", lambda: None)
