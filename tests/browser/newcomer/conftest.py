"""A whole installation as `script/up` starts it, and a stranger's browser before it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.installation import Installation

# What htmx says of a poll that ends because the visitor leaves the page; a refused one is "Failed to load resource".
LEFT_WHILE_ASKING = ("htmx:afterRequest", "htmx:sendError")


@pytest.fixture(scope="session")
def installation() -> Iterator[Installation]:
    """A panel with its demo, in a home and on a port of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="pooldeck-browser-") as folder,
        Installation(Path(folder) / "home") as panel,
    ):
        yield panel


@pytest.fixture
def page(chromium: Browser, installation: Installation) -> Iterator[Page]:
    """A page of a visitor who may use the clipboard; a script error or refused resource fails the test."""
    context = chromium.new_context(base_url=installation.url, viewport={"width": 1440, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.set_default_timeout(15_000)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    yield page
    context.close()
    assert [line for line in complaints if not line.startswith(LEFT_WHILE_ASKING)] == []
