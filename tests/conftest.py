"""What every test may use; what tests of properties draw; and which tests may start servers."""

import gc
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from django.contrib.auth.management import create_permissions
from django.contrib.contenttypes.management import create_contenttypes
from django.db import connection
from django.db.models.signals import post_migrate
from hypothesis import HealthCheck, settings

from benchmarks.models import metrics
from core.lib import gc_tuning
from panel.quickstart import ports
from panel.quickstart.servers import Server
from pools.hosts import ssh_client
from tests import ended_servers, seeds
from tests.drawing import DRAWS

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

# Collecting tests makes objects that stay: to look through them for garbage again and again took a sixth of its time.
gc.disable()

# a slow machine is no fault of what is tested, here as with every other test
STEADY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("same", STEADY, derandomize=True)  # a change fails by what it changes, not by luck
settings.register_profile("anew", STEADY)
settings.load_profile(DRAWS)

# parallel processes must not find the same port free at the same moment
WORKER, WORKERS = os.environ.get("PYTEST_XDIST_WORKER", "gw0"), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
SHARE = (ports.HIGHEST - ports.LOWEST) // WORKERS
ports.LOWEST += SHARE * int(WORKER.removeprefix("gw"))
ports.HIGHEST = ports.LOWEST + SHARE

HERE = Path(__file__).parent
MARKED = {HERE / "live": "live", HERE / "browser": "browser"}
START = Server.spawn
LONG_S = 15
# what is started once for a folder and takes long, and is therefore one parallel process's
AFTER_BROWSER = HERE / "live/benchmarks/runs/distributed"  # see tests/network_devices.py
AFTER_BROWSER_WITHIN_S = 1800  # the first of them waits until no browser is open, however long that takes
SHARED = [HERE / "browser", AFTER_BROWSER, HERE / "live/v2"]
# half of the browser's time: a second installation costs less than to wait for one process at the end
BROWSERS_SECOND = {
    f"test_{name}.py" for name in ("accessibility", "accounts", "newcomer", "experiments", "engines", "console")
}


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Mark tests by their folder, and keep those of one file, or of a folder with shared programs, in one parallel
    process; those of the browser first and short ones last, since the last file to end is what one waits for.
    """
    for item in items:
        if mark := _mark_of(item.path):
            item.add_marker(mark)
        if AFTER_BROWSER in item.path.parents and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(AFTER_BROWSER_WITHIN_S))
        item.add_marker(pytest.mark.xdist_group(_group_of(item.path)))
    yield
    # after pytest-django has sorted them: tests without a database come last there
    items.sort(key=lambda item: [item.get_closest_marker(mark) is None for mark in ("browser", "live")])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to go on where pytest-xdist overlooked the groups: each process would start every server anew.

    From now on garbage is collected, less often than usual, but for what is there already.
    """
    gc_tuning.freeze_existing()
    gc.set_threshold(100_000, 50, 50)
    gc.enable()
    if session.config.getoption("loadgroup", False) and any("@" not in item.nodeid for item in session.items):
        raise pytest.UsageError("this pytest-xdist does not keep the groups of tests together: see its release notes")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: "WorkerController", error: object) -> None:
    """End the whole run when one of its parallel processes died: pytest-xdist's scheduler of groups never ends then."""
    if error:
        pytest.exit(f"the parallel process {node.gateway.id} died ({error}): look for the kernel's OOM killer", 3)


@cache
def _mark_of(file: Path) -> str | None:
    return next((mark for folder, mark in MARKED.items() if folder in file.parents), None)


@cache
def _group_of(file: Path) -> str:
    shared = next((folder for folder in SHARED if folder in file.parents), None)
    if shared == AFTER_BROWSER or (shared == HERE / "browser" and file.name in BROWSERS_SECOND):
        return "browser-second"
    return str((shared or file).relative_to(HERE))


@pytest.fixture(scope="session")
def seeds_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `tests.seeds` keeps what it made: shared by the processes, and by test runs of the same sources."""
    cache = getattr(request.config, "cache", None)
    return cache.mkdir("seeds") if cache else tmp_path_factory.mktemp("seeds")


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Whether pytest-django finds a database that is migrated already; it goes with the home of the test run."""
    return connection.vendor == "sqlite"


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest, django_db_modify_db_settings: None, django_db_keepdb: bool, seeds_folder: Path
) -> None:
    """Let pytest-django set up its databases, the migrated one being copied where it can be."""
    with ExitStack() as stack:
        if django_db_keepdb:
            name = Path(connection.creation._get_test_db_name())
            stack.enter_context(seeds.migrated(seeds_folder, name))
        request.getfixturevalue("django_db_setup")
    # Flushing the database after a test would make these anew, and the panel's rights are not Django's permissions.
    post_migrate.disconnect(create_permissions, dispatch_uid="django.contrib.auth.management.create_permissions")
    post_migrate.disconnect(create_contenttypes)


@pytest.fixture
def nothing_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server is connected to and no name is resolved, whatever host is made up."""

    def refuse(*_: object, **__: object) -> None:
        raise psycopg.OperationalError("connection refused")

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(psycopg, "connect", refuse)
    monkeypatch.setattr(ssh_client, "PATH", "/nowhere")  # This folder has no ssh.
    monkeypatch.setattr(socket, "create_connection", unknown)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)


@pytest.fixture
def restored_signals() -> Iterator[None]:
    """Take back how a `Supervisor` in this process handles signals: it ignores those that end it, at its own end."""
    stop_signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in stop_signals}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let a test that is not marked start no server, be it by a fixture of the session's."""
    marked = any(item.get_closest_marker(mark) for mark in MARKED.values())
    Server.spawn = START if marked else refuse  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Fail the test that leaves a patch, and after the last one of a file remove the data of servers that ended."""
    yield
    if held := sys.modules.get("core.accounts.held_requests"):
        held._held.clear()  # streams that a test opened and did not read to their end
    _refuse_patches_that_stay()
    if nextitem is None or nextitem.path != item.path:
        ended_servers.remove_data(item.config)


def _refuse_patches_that_stay() -> None:
    """Fail where an attribute is left on the one object of a kind of pooler, or of an engine.

    `monkeypatch.setattr(KINDS[kind], name, ...)` does: what it takes back is a method bound to the object, which hides
    each later patch of the class. `monkeypatch.setitem(vars(KINDS[kind]), name, ...)` leaves nothing.
    """
    for registry, name in (("pools.poolers", "KINDS"), ("benchmarks.engines", "ENGINES")):
        for kind, one in getattr(sys.modules.get(registry), name, {}).items():
            left = list(vars(one))
            vars(one).clear()  # or each later test fails too
            assert not left, f"{name}[{kind!r}] still has {', '.join(left)}"


def refuse(server: Server) -> None:
    """Stand in for the start of a server."""
    raise AssertionError(f"{server} was started by a test that is neither live nor of the browser")


def part_of(nodeid: str) -> str:
    """Return the part of the tests that one is of, as tests/README.md has them: `tests/live/pools`, `tests/panel`."""
    folders = nodeid.partition("::")[0].split("/")[:-1]
    return "/".join(folders[: 3 if folders[1:2] == ["live"] else 2])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long each part took, and name the tests that took long without being marked `slow`.

    On a busy machine that alone is no failure.
    """
    _say_parts(terminalreporter)
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.getreports(outcome)]
    long = [one for one in reports if one.when == "call" and one.duration > LONG_S and "slow" not in one.keywords]
    if long:
        terminalreporter.section(f"over {LONG_S} s and not marked slow: shorten them, or mark them")
    for report in sorted(long, key=lambda one: -one.duration):
        terminalreporter.line(f"{report.duration:.0f} s {report.nodeid}")


def _say_parts(terminalreporter: pytest.TerminalReporter) -> None:
    """Add up the tests of each part with their set-up; in parallel processes, the seconds of all of them."""
    seconds: dict[str, float] = {}
    reports = [one for kind in terminalreporter.stats.values() for one in kind if isinstance(one, pytest.TestReport)]
    for report in reports:
        part = part_of(report.nodeid)
        seconds[part] = seconds.get(part, 0) + report.duration
    if len(seconds) > 1:
        terminalreporter.section("how long each part took")
        for part, spent in sorted(seconds.items()):
            terminalreporter.line(f"{spent:6.0f} s {part}")


@pytest.fixture(scope="module")
def few_are_enough() -> Iterator[None]:
    """Lets a percentile be shown of a handful of latencies: a test of its arithmetic needs no thousand."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "PER_SHOWN_PERCENTILE", 0)
        yield
