"""A stranger's browser before a whole installation."""

import pytest
from playwright.sync_api import Page


@pytest.fixture
def page(visitor: Page) -> Page:
    """The visitor's page."""
    return visitor
