"""A plugin of pytest for `script/check`: it runs modules in the order given, and starts no test after `--stop-after`.

Tests that were not reached are no failure: the suite runs them all.
"""

import time
from pathlib import Path

import pytest

BEGAN = time.monotonic()
FLUSHING = {"transactional_db", "live_server"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--stop-after", type=float, metavar="SECONDS", help="start no test after that")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort by module, but leave those last that empty the database at their end, as pytest-django does."""
    places = {(config.invocation_params.dir / name).resolve(): at for at, name in enumerate(config.args)}
    items.sort(key=lambda item: (_flushes(item), places.get(Path(item.path), len(places))))


def _flushes(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("django_db")
    return bool(mark and mark.kwargs.get("transaction")) or not FLUSHING.isdisjoint(getattr(item, "fixturenames", ()))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End the session after this test where the time is over."""
    seconds = item.config.getoption("--stop-after")
    if nextitem is not None and seconds and time.monotonic() - BEGAN > seconds:
        left = len(item.session.items) - item.session.items.index(item) - 1
        item.session.shouldstop = f"{left} tests were not reached in {seconds:.0f} s: script/test runs them"


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Judge by the tests that ran."""
    if session.shouldstop and not session.testsfailed and session.exitstatus == pytest.ExitCode.INTERRUPTED:
        session.exitstatus = pytest.ExitCode.OK
