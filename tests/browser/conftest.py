"""A real Chromium, and what it looks at: a panel of its own, or a whole installation as `script/up` starts it."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from panel.quickstart.servers import RedisServer, free_port
from tests import network_devices, seeds
from tests.browser.visiting import Login
from tests.chromium import launch
from tests.installation import Installation

ROOT = Path(__file__).resolve().parent.parent.parent
PASSWORD = "browser-tests-only"
WAIT_MS = 60_000  # far above what a page needs: only a fault waits so long, on a busy machine too
expect.set_options(timeout=WAIT_MS)
TOLD = 3000  # characters of the web process's log, where a test fails
# What htmx says of a poll that ends because the visitor leaves the page; a refused one is "Failed to load resource".
LEFT_WHILE_ASKING = ("htmx:afterRequest", "htmx:sendError", "htmx:sendAbort")
MAKE_ADMIN = f"""
import django; django.setup()
from django.contrib.auth.models import User
User.objects.create_superuser("admin", password="{PASSWORD}")
"""


class Web:
    """The panel's web process, on a port that stays the same when it is started again."""

    def __init__(self, home: Path, redis_url: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.login = Login()
        self.log = home / "web.log"
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "panel.settings",
            "POOLDECK_HOME": str(home),
            "DATABASE_URL": f"sqlite:///{home / 'pooldeck.sqlite3'}",
            "REDIS_URL": redis_url,
        }

    def run(self, *arguments: str) -> None:
        """A Python program of the project, to its end."""
        subprocess.run([sys.executable, *arguments], cwd=ROOT, env=self.environment, check=True, timeout=120)

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", "panel.web_server", "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        deadline = time.monotonic() + 150
        while not self._answers():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def kill(self) -> None:
        """End it without a goodbye."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz/live", timeout=30) as answer:
                return answer.status == 200
        except OSError:
            return False


@pytest.fixture(scope="session")
def seeded(seeds_folder: Path) -> Callable[[Path], Path]:
    """Make a home that has a migrated database and collected pages already."""

    def seed(home: Path) -> Path:
        home.mkdir(exist_ok=True)
        seeds.fill(seeds_folder, home)
        return home

    return seed


@pytest.fixture(scope="package")
def web(tmp_path_factory: pytest.TempPathFactory, seeded: Callable[[Path], Path]) -> Iterator[Web]:
    """A panel with an admin and nothing else."""
    home = seeded(tmp_path_factory.mktemp("web"))
    with RedisServer(tmp_path_factory.mktemp("redis"), free_port(), password="redis-password") as redis:
        served = Web(home, redis.url)
        served.run("-c", MAKE_ADMIN)
        served.start()
        yield served
        served.kill()


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Yield Chromium, closed with this folder: Playwright's event loop keeps Django from its database."""
    with network_devices.unchanged(), sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser, web: Web) -> Iterator[Page]:
    """A page in which the admin is logged in; what the browser complained of is shown when the test fails."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(WAIT_MS)
    opened = context.new_page()
    opened.on("console", lambda message: print(f"browser: {message.type}: {message.text}"))
    opened.on("pageerror", lambda error: print(f"browser: {error}"))
    web.login.give(opened, lambda: _log_in_by_form(opened, web))
    yield opened
    print(f"at {opened.url}, the web process said:\n{web.log.read_text()[-TOLD:]}")
    context.close()


def _log_in_by_form(page: Page, web: Web) -> None:
    page.goto(f"{web.url}/login/")
    page.fill("[name=username]", "admin")
    page.fill("[name=password]", PASSWORD)
    page.click("button[type=submit]")
    page.wait_for_url(f"{web.url}/")


@pytest.fixture(scope="package")
def installation(seeded: Callable[[Path], Path]) -> Iterator[Installation]:
    """A panel with its demo, in a home and on a port of its own: one for all tests that need the whole.

    It ends with this folder: a panel at rest looks at its poolers each second, beside all the tests that follow.
    """
    with (
        tempfile.TemporaryDirectory(prefix="pooldeck-browser-") as folder,
        Installation(seeded(Path(folder) / "home")) as panel,
    ):
        yield panel


@pytest.fixture
def visit(chromium: Browser, installation: Installation) -> Iterator[Callable[..., Page]]:
    """Opens a page before the installation, in a context of its own with the words given."""
    contexts: list[BrowserContext] = []

    def open_page(**words: Any) -> Page:
        viewport = {"width": 1440, "height": 900}
        contexts.append(chromium.new_context(**{"base_url": installation.url, "viewport": viewport, **words}))
        page = contexts[-1].new_page()
        page.set_default_timeout(WAIT_MS)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def visitor(visit: Callable[..., Page]) -> Iterator[Page]:
    """A page of a visitor who may use the clipboard; a script error or refused resource fails the test."""
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    yield page
    page.close()
    assert [line for line in complaints if not line.startswith(LEFT_WHILE_ASKING)] == []
