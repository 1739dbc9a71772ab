"""Debian's Chromium for the tests and measurements that need a browser."""

from playwright.sync_api import Browser, Playwright

HEADLESS_SHELL = "/usr/bin/chromium-headless-shell"


def launch(playwright: Playwright) -> Browser:
    """Start Chromium without the parts that draw a window; root needs --no-sandbox."""
    return playwright.chromium.launch(executable_path=HEADLESS_SHELL, args=["--no-sandbox"])
